//! Makes it possible to end a run in instructions that wasmtime implements as calls of its own.
//!
//! A run is ended by a signal that finds its thread in guest code (see [`halt`](crate::halt)). Filling and copying
//! memory is not guest code: a guest that does nothing else, in large pieces or in a great many small ones, would
//! hardly ever be found. So before a module is compiled, both become functions of the module itself. They work piece by
//! piece and call the host after a certain amount of work; the host answers with an error if the run has to end. For a
//! short copy this adds a call, a subtraction and a comparison.
//!
//! The snapshot itself stays as it is; only what is compiled from it for this machine changes.

use std::convert::Infallible;

use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, EntityType, Function, FunctionSection, GlobalSection, GlobalType, ImportSection,
    Instruction, InstructionSink, Module, SectionId, TypeSection, ValType,
};
use wasmparser::{
    CustomSectionReader, FunctionBody, FunctionSectionReader, GlobalSectionReader, ImportSectionReader, MemoryType,
    Operator, Parser, Payload, TypeRef, TypeSectionReader,
};
use wasmtime::{Error, Result};

/// The name under which the host's function is imported.
pub(crate) const LOOK_UP: (&str, &str) = ("belljar", "look_up");

/// The most bytes between two calls of the host. They take some 10 µs, of which the call is a hundredth; or some 100 µs
/// where each page is touched for the first time.
const PIECE: u32 = 256 << 10;

/// What each instruction counts for, in bytes, beyond what it fills or copies.
const EACH: u32 = 64;

/// Copies of at most this many bytes, if the code gives the length as a constant, are no calls: wasmtime compiles them
/// to loads and stores.
const INLINE: u32 = 128;

/// The same module, with a call of [`LOOK_UP`] wherever it would otherwise be out of reach for long. A module that
/// never is comes back unchanged. Function names and other custom sections, which nobody reads here, are dropped.
pub(crate) fn in_pieces(wasm: &[u8]) -> Result<Vec<u8>> {
    let survey = Survey::of(wasm)?;
    if survey.far_out == 0 {
        return Ok(wasm.to_vec());
    }
    if survey.memory.is_some_and(|memory| memory.memory64 || memory.page_size_log2.is_some()) {
        return Err(Error::msg("a memory that is not of 32 bits and the usual pages"));
    }
    let mut module = Module::new();
    let mut rewriting = Rewriting { survey };
    let rewritten = rewriting.parse_core_module(&mut module, Parser::new(0), wasm);
    rewritten.map_err(|error| Error::msg(format!("a module that cannot be rewritten: {error}")))?;
    Ok(module.finish())
}

/// How much of everything a module has, which gives the numbers of what is added.
#[derive(Debug, Default)]
struct Survey {
    types: u32,
    imported_functions: u32,
    functions: u32,
    globals: u32,
    memory: Option<MemoryType>,
    has_imports: bool,
    has_globals: bool,
    /// Instructions that are rewritten.
    far_out: usize,
}

impl Survey {
    #[expect(clippy::wildcard_enum_match_arm, reason = "other sections have nothing that is counted")]
    fn of(wasm: &[u8]) -> Result<Self> {
        let mut survey = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::TypeSection(groups) => {
                    for group in groups {
                        survey.types += u32::try_from(group?.types().len())?;
                    }
                }
                Payload::ImportSection(imports) => {
                    survey.has_imports = true;
                    for import in imports.into_imports() {
                        match import?.ty {
                            TypeRef::Func(_) | TypeRef::FuncExact(_) => survey.imported_functions += 1,
                            TypeRef::Global(_) => survey.globals += 1,
                            TypeRef::Memory(memory) => survey.memory = survey.memory.or(Some(memory)),
                            TypeRef::Table(_) | TypeRef::Tag(_) => {}
                        }
                    }
                }
                Payload::FunctionSection(functions) => survey.functions = functions.count(),
                Payload::MemorySection(memories) => {
                    for memory in memories {
                        survey.memory = survey.memory.or(Some(memory?));
                    }
                }
                Payload::GlobalSection(globals) => {
                    survey.has_globals = true;
                    survey.globals += globals.count();
                }
                Payload::CodeSectionEntry(body) => survey.read(&body)?,
                _ => {}
            }
        }
        survey.functions += survey.imported_functions;
        Ok(survey)
    }

    fn read(&mut self, body: &FunctionBody<'_>) -> Result<()> {
        for operator in body.get_operators_reader()? {
            match Work::of(&operator?) {
                Work::Fill { memory: 0 } | Work::Copy { to: 0, from: 0 } | Work::Bounded => self.far_out += 1,
                Work::Fill { .. } | Work::Copy { .. } => return Err(Error::msg("bulk operations on a second memory")),
                Work::InReach => {}
            }
        }
        Ok(())
    }

    /// The type of [`LOOK_UP`].
    fn plain_type(&self) -> u32 {
        self.types
    }

    /// The type of the four added functions: three numbers in, nothing out.
    fn bulk_type(&self) -> u32 {
        self.types + 1
    }

    /// It comes after the module's own imports, so all of the module's own functions move up by one.
    fn look_up(&self) -> u32 {
        self.imported_functions
    }

    fn fill(&self) -> u32 {
        self.functions + 1
    }

    fn copy(&self) -> u32 {
        self.functions + 2
    }

    fn fill_in_pieces(&self) -> u32 {
        self.functions + 3
    }

    fn copy_in_pieces(&self) -> u32 {
        self.functions + 4
    }

    /// The global that holds how many bytes are left until the host is called.
    fn left(&self) -> u32 {
        self.globals
    }
}

/// Where an instruction's time is spent.
enum Work {
    /// In wasmtime, for as long as the guest likes.
    Fill {
        memory: u32,
    },
    Copy {
        to: u32,
        from: u32,
    },
    /// In wasmtime, but not for long: tables and stacks are small, and memory that grows is only mapped. Nothing limits
    /// how often, though.
    Bounded,
    /// In guest code, or in a call of the host that checks by itself. There are no passive data segments for
    /// `memory.init` to copy from: see [`take_apart`](crate::artifact::take_apart).
    InReach,
}

impl Work {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other instructions are compiled to machine code")]
    fn of(operator: &Operator<'_>) -> Self {
        match *operator {
            Operator::MemoryFill { mem: memory } => Self::Fill { memory },
            Operator::MemoryCopy { dst_mem: to, src_mem: from } => Self::Copy { to, from },
            Operator::MemoryGrow { .. }
            | Operator::Throw { .. }
            | Operator::ThrowRef
            | Operator::TableFill { .. }
            | Operator::TableCopy { .. }
            | Operator::TableInit { .. }
            | Operator::TableGrow { .. } => Self::Bounded,
            _ => Self::InReach,
        }
    }
}

struct Rewriting {
    survey: Survey,
}

type Rewritten<T> = Result<T, reencode::Error<Infallible>>;

impl Reencode for Rewriting {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Rewritten<u32> {
        Ok(if function < self.survey.imported_functions { function } else { function + 1 })
    }

    fn parse_custom_section(&mut self, _: &mut Module, _: CustomSectionReader<'_>) -> Rewritten<()> {
        Ok(())
    }

    fn parse_type_section(&mut self, types: &mut TypeSection, section: TypeSectionReader<'_>) -> Rewritten<()> {
        utils::parse_type_section(self, types, section)?;
        types.ty().function([], []);
        types.ty().function([ValType::I32; 3], []);
        Ok(())
    }

    fn parse_import_section(&mut self, imports: &mut ImportSection, section: ImportSectionReader<'_>) -> Rewritten<()> {
        utils::parse_import_section(self, imports, section)?;
        self.survey.add_import(imports);
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Rewritten<()> {
        utils::parse_function_section(self, functions, section)?;
        for _ in [self.survey.fill(), self.survey.copy(), self.survey.fill_in_pieces(), self.survey.copy_in_pieces()] {
            functions.function(self.survey.bulk_type());
        }
        Ok(())
    }

    fn parse_global_section(&mut self, globals: &mut GlobalSection, section: GlobalSectionReader<'_>) -> Rewritten<()> {
        utils::parse_global_section(self, globals, section)?;
        add_global(globals);
        Ok(())
    }

    /// Sections that a module need not have.
    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Rewritten<()> {
        if before == Some(SectionId::Function) && !self.survey.has_imports {
            let mut imports = ImportSection::new();
            self.survey.add_import(&mut imports);
            module.section(&imports);
        }
        let globals_are_due = matches!(
            before,
            Some(SectionId::Export | SectionId::Start | SectionId::Element | SectionId::DataCount | SectionId::Code)
        );
        if globals_are_due && !self.survey.has_globals {
            self.survey.has_globals = true;
            let mut globals = GlobalSection::new();
            add_global(&mut globals);
            module.section(&globals);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: wasmparser::CodeSectionReader<'_>,
    ) -> Rewritten<()> {
        utils::parse_code_section(self, code, section)?;
        code.function(&self.survey.at_once(self.survey.fill_in_pieces(), |code| {
            code.memory_fill(0);
        }));
        code.function(&self.survey.at_once(self.survey.copy_in_pieces(), |code| {
            code.memory_copy(0, 0);
        }));
        code.function(&self.survey.filling());
        code.function(&self.survey.copying());
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Rewritten<()> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut constant = None;
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            let is_short = constant.is_some_and(|length| length <= INLINE);
            constant = if let Operator::I32Const { value } = operator { Some(value.cast_unsigned()) } else { None };
            match Work::of(&operator) {
                Work::Fill { .. } => {
                    function.instruction(&Instruction::Call(self.survey.fill()));
                    continue;
                }
                Work::Copy { .. } if !is_short => {
                    function.instruction(&Instruction::Call(self.survey.copy()));
                    continue;
                }
                Work::Bounded => {
                    function.instruction(&Instruction::Call(self.survey.look_up()));
                }
                Work::Copy { .. } | Work::InReach => {}
            }
            function.instruction(&self.instruction(operator)?);
        }
        code.function(&function);
        Ok(())
    }
}

/// Parameters of the added functions: the destination, the byte or the source, and the length.
const TO: u32 = 0;
const FROM: u32 = 1;
const LENGTH: u32 = 2;

impl Survey {
    fn add_import(&self, imports: &mut ImportSection) {
        let (module, name) = LOOK_UP;
        imports.import(module, name, EntityType::Function(self.plain_type()));
    }

    /// Does `instruction` at once if the host was called recently enough, and otherwise calls `in_pieces`.
    fn at_once(&self, in_pieces: u32, instruction: fn(&mut InstructionSink<'_>)) -> Function {
        const REST: u32 = 3;
        let mut function = Function::new([(1, ValType::I64)]);
        let code = &mut function.instructions();
        code.global_get(self.left()).local_get(LENGTH).i64_extend_i32_u().i64_sub();
        code.i64_const(EACH.into()).i64_sub().local_tee(REST);
        code.i64_const(0).i64_lt_s().if_(BlockType::Empty);
        code.local_get(TO).local_get(FROM).local_get(LENGTH).call(in_pieces).return_().end();
        code.local_get(REST).global_set(self.left());
        instruction(code.local_get(TO).local_get(FROM).local_get(LENGTH));
        code.end();
        function
    }

    /// Fills memory: first all pieces but the last, then the last.
    fn filling(&self) -> Function {
        let mut function = Function::new([]);
        let code = &mut function.instructions();
        self.begin(code);
        ends_outside(code, TO);
        code.if_(BlockType::Empty).local_get(TO).local_get(FROM).local_get(LENGTH).memory_fill(0).return_().end();
        while_more_than_a_piece(code, |code| {
            code.local_get(TO).local_get(FROM).i32_const(PIECE.cast_signed()).memory_fill(0);
            change(code, TO, InstructionSink::i32_add);
            change(code, LENGTH, InstructionSink::i32_sub);
            code.call(self.look_up());
        });
        code.local_get(TO).local_get(FROM).local_get(LENGTH).memory_fill(0).end();
        function
    }

    /// Copies memory, in the direction that never overwrites what is still to be copied.
    fn copying(&self) -> Function {
        let mut function = Function::new([]);
        let code = &mut function.instructions();
        self.begin(code);
        ends_outside(code, TO);
        ends_outside(code, FROM);
        code.i32_or().if_(BlockType::Empty);
        code.local_get(TO).local_get(FROM).local_get(LENGTH).memory_copy(0, 0).return_().end();
        code.local_get(TO).local_get(FROM).i32_le_u().if_(BlockType::Empty);
        while_more_than_a_piece(code, |code| {
            code.local_get(TO).local_get(FROM).i32_const(PIECE.cast_signed()).memory_copy(0, 0);
            change(code, TO, InstructionSink::i32_add);
            change(code, FROM, InstructionSink::i32_add);
            change(code, LENGTH, InstructionSink::i32_sub);
            code.call(self.look_up());
        });
        code.else_();
        while_more_than_a_piece(code, |code| {
            change(code, LENGTH, InstructionSink::i32_sub);
            code.local_get(TO).local_get(LENGTH).i32_add();
            code.local_get(FROM).local_get(LENGTH).i32_add();
            code.i32_const(PIECE.cast_signed()).memory_copy(0, 0).call(self.look_up());
        });
        code.end().local_get(TO).local_get(FROM).local_get(LENGTH).memory_copy(0, 0).end();
        function
    }

    fn begin(&self, code: &mut InstructionSink<'_>) {
        code.call(self.look_up()).i64_const(PIECE.into()).global_set(self.left());
    }
}

fn add_global(globals: &mut GlobalSection) {
    let kind = GlobalType { val_type: ValType::I64, mutable: true, shared: false };
    globals.global(kind, &ConstExpr::i64_const(PIECE.into()));
}

/// Whether the range that begins at `start` ends outside of memory. Then the instruction itself has to trap, before
/// anything is written.
fn ends_outside(code: &mut InstructionSink<'_>, start: u32) {
    const PAGE_BITS: i64 = 16;
    code.local_get(start).i64_extend_i32_u().local_get(LENGTH).i64_extend_i32_u().i64_add();
    code.memory_size(0).i64_extend_i32_u().i64_const(PAGE_BITS).i64_shl().i64_gt_u();
}

fn while_more_than_a_piece(code: &mut InstructionSink<'_>, body: impl FnOnce(&mut InstructionSink<'_>)) {
    code.block(BlockType::Empty).loop_(BlockType::Empty);
    code.local_get(LENGTH).i32_const(PIECE.cast_signed()).i32_le_u().br_if(1);
    body(code);
    code.br(0).end().end();
}

/// Moves a parameter by a piece.
fn change<'a, 'b>(
    code: &'a mut InstructionSink<'b>,
    parameter: u32,
    by: fn(&'a mut InstructionSink<'b>) -> &'a mut InstructionSink<'b>,
) {
    by(code.local_get(parameter).i32_const(PIECE.cast_signed())).local_set(parameter);
}

#[cfg(test)]
mod tests;
