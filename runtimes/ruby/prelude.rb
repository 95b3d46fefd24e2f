# Makes of an embedded Ruby what `ruby /box/main.rb` is. Evaluated once, before the snapshot; `Belljar.run` then once in every run.
#
# This file is called `<internal:belljar>` there: Ruby leaves such frames out of backtraces and of `caller`.

module Belljar
  class << self
    # Loads libraries, so that requiring them costs a run nothing. Returns itself.
    def preload(names)
      names.each { |name| Library.load(name) }
      Library.hide
      GC.start
      self
    end

    # What the next run is given, as JSON. Returns itself.
    def given(job)
      @job = Library::JSON.parse(job.force_encoding(Encoding::UTF_8))
      self
    end

    # Runs the program to its end. Returns what the driver is to know, as JSON.
    def run
      file = @job["file"]
      $0 = file
      ARGV.replace(@job["args"])
      ENV.replace(@job["env"])
      report = {}
      begin
        value = Program.run(file)
        report["exit"] = Exits.run(0, file, report)
      rescue SystemExit => error
        value = nil
        report["exit"] = Exits.run(error.status, file, report)
      rescue Exception => error
        value = nil
        report["exit"] = Exits.run(1, file, report)
        Failure.tell(error, file, report)
      end
      Value.describe(value, report) if report["exit"] == 0
      Library::JSON.generate(report)
    end

    # Runs a cell of a session: what it names stays for the next, whatever becomes of it. Returns what the driver is to know, as JSON.
    def cell
      file = @job["file"]
      $0 = file
      ARGV.replace(@job["args"])
      ENV.update(@job["env"])
      Cells.renew_stdin(@job["has_stdin"])
      report = { "exit" => 0 }
      begin
        value = Cells.run(@job["code"], file)
      rescue SystemExit => error
        report["exit"] = error.status
      rescue Exception => error
        report["exit"] = 1
        Failure.tell(error, file, report)
      end
      Value.describe(value, report)
      Library::JSON.generate(report)
    end

    # Writes out what the program left open, as the end of a process does.
    def flush_files
      ObjectSpace.each_object(IO) do |io|
        io.flush unless io.closed?
      rescue IOError, SystemCallError
        nil
      end
    end
  end

  # The program itself.
  module Program
    class << self
      # Its last expression's value.
      def run(file)
        text = File.binread(file)
        open_data(file, text) if text.include?("__END__")
        if text.match?(/^\s*END\s*\{/n)
          TOPLEVEL_BINDING.eval(with_at_exit(text), file, 1)
        else
          RubyVM::InstructionSequence.compile_file_prism(file).eval
        end
      end

      private

      # What follows `__END__`, as a file that stands there.
      def open_data(file, text)
        place = text.match(/^__END__\r?(?:\n|\z)/n) or return
        Object.const_set(:DATA, File.open(file).tap { |data| data.seek(place.end(0)) })
      end

      # Nobody would run `END` blocks, for the interpreter itself never ends. What `at_exit` is given, we run.
      def with_at_exit(text)
        parsed = Library::Prism.parse(text)
        places = []
        find_ends(parsed.value, places) if parsed.success?
        places.reverse_each { |place| text[place.start_offset...place.end_offset] = "at_exit" }
        text.force_encoding(Encoding::UTF_8)
      end

      def find_ends(node, places)
        places << node.keyword_loc if node.is_a?(Library::Prism::PostExecutionNode)
        node.compact_child_nodes.each { |child| find_ends(child, places) }
      end
    end
  end

  # Programs that share a scope.
  module Cells
    class << self
      # Its last expression's value, which is also `_`.
      def run(code, file)
        value = TOPLEVEL_BINDING.eval(code, file, 1)
        TOPLEVEL_BINDING.local_variable_set(:_, value) unless value.nil?
        value
      end

      # What the last cell left unread is not the next one's.
      def renew_stdin(given)
        $stdin = File.open("/dev/stdin") if (given || @had_stdin) && ($stdin.equal?(STDIN) || $stdin.equal?(@stdin))
        @stdin, @had_stdin = $stdin, given
      end
    end
  end

  # What runs after the program.
  module Exits
    HANDLERS = []

    # The handler that was given last is run first, and may give others. Returns the exit code.
    def self.run(code, file, report)
      given = code
      while (handler = HANDLERS.pop)
        begin
          handler.call
        rescue SystemExit => error
          code = error.status
        rescue Exception => error
          code = given == 0 ? 1 : given
          Failure.tell(error, file, report)
        end
      end
      code
    end
  end

  # An exception that nobody rescued.
  module Failure
    # Frames of C functions that we call are not named after our file.
    OURS = /\A<internal:belljar>|in '(?:RubyVM::InstructionSequence|Binding)#eval'\z/
    CLASS_NAME = Module.instance_method(:to_s)
    private_constant :OURS, :CLASS_NAME

    class << self
      # Prints it as Ruby does.
      def tell(error, file, report)
        forget_our_frames(error)
        unread = error.is_a?(SyntaxError) && error.path == file
        $stderr.write(unread ? unread_text(error) : text(error, file))
        report["error"] = { "kind" => CLASS_NAME.bind_call(error.class), **(unread ? unread_facts(error, file) : facts(error, file)) }
        report["unsupported"] = reason(error)
      rescue Exception
        # What it takes to tell is broken: by the program, or for want of memory.
        report["error"] ||= { "kind" => CLASS_NAME.bind_call(error.class), "message" => "" }
      end

      private

      def forget_our_frames(error)
        seen = {}.compare_by_identity
        while error && !seen[error]
          seen[error] = true
          frames = error.backtrace
          last = frames&.rindex { |frame| !frame.match?(OURS) }
          error.set_backtrace(frames[0..last]) if last && last < frames.length - 1
          error = error.cause
        end
      end

      # One that was made ahead, for when there is no memory, has no frames.
      def text(error, file)
        error.backtrace ? error.full_message(highlight: false, order: :top) : "#{file}: #{unread_text(error)}"
      end

      def facts(error, file)
        place = error.backtrace&.find { |frame| frame.start_with?("#{file}:") }
        { "message" => first_line(error.message), "line" => place && place[file.length + 1..].to_i }
      end

      # A program that Ruby cannot read has no frames; the message begins with the place.
      def unread_text(error)
        "#{error.detailed_message(highlight: false).chomp}\n"
      end

      def unread_facts(error, file)
        marked = error.message[/^\s*\|\s*\^[~^]*\s*(.*)/, 1]
        line = error.message[/\A#{Regexp.escape(file)}:(\d+)/, 1]
        { "message" => first_line(marked || error.message.sub(/\A.*?:\d+: /, "")), "line" => line&.to_i }
      end

      def first_line(message)
        message.to_s.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub[/\A.{0,4096}/]
      end

      # Why another engine may do better, if it may.
      def reason(error)
        case error
        when SystemStackError then "calls this deep need a larger stack than WebAssembly has"
        when LoadError then "`#{error.path}` is not in the WebAssembly Ruby" unless error.path.to_s.match?(%r{\A(?:[./]|\z)})
        when NotImplementedError
          missing = error.message[/\A(\w+)\(\) function is unimplemented/, 1]
          missing ? "`#{missing}` is not in the WebAssembly Ruby" : error.message[/\AWebAssembly .*/]
        end
      end
    end
  end

  # The value of the last expression.
  module Value
    MOST_JSON = 256 << 10
    MOST_PRINTED = 64 << 10
    DEPTH = 64

    class << self
      def describe(value, report)
        return if value.nil?

        json = Library::JSON.generate(value, max_nesting: DEPTH) if plain?(value, DEPTH)
        if json && json.bytesize <= MOST_JSON
          report["json"] = json
        else
          printed = value.inspect.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
          report["printed"] = printed.byteslice(0, MOST_PRINTED).scrub("")
        end
      rescue Exception
        # One that cannot be printed is no reason to fail.
        nil
      end

      private

      # A subclass prints itself in its own way, and is no plain data.
      def plain?(value, depth)
        case value
        when nil, true, false then true
        when Integer then value.bit_length < 64
        when Float then value.finite?
        when String then value.instance_of?(String) && text?(value)
        when Array then depth > 0 && value.instance_of?(Array) && value.all? { |item| plain?(item, depth - 1) }
        when Hash then depth > 0 && value.instance_of?(Hash) && value.all? { |key, item| name?(key) && plain?(item, depth - 1) }
        else false
        end
      end

      def name?(key)
        key.instance_of?(String) ? text?(key) : key.is_a?(Symbol)
      end

      def text?(string)
        string.bytesize <= MOST_JSON && string.valid_encoding? && (string.encoding == Encoding::UTF_8 || string.ascii_only?)
      end
    end
  end

  # Libraries that are loaded, and not to be seen before the program requires them: it may have a `Matrix` of its own.
  module Library
    # By name: top-level constants, and the libraries that it requires itself.
    Group = Struct.new(:constants, :needs, :state)
    @groups = {}
    @owned = []
    @loading = nil

    class << self
      # As `require` does it, and what it requires in turn in the same way.
      def load(name)
        return false if @groups[name]

        outer = @loading
        before = Object.constants
        @loading = group = @groups[name] = Group.new({}, [], :loaded)
        begin
          load_file(name)
        ensure
          @loading = outer
        end
        added = (Object.constants - before - @owned).reject { |constant| Object.autoload?(constant) }
        @owned.concat(added)
        added.each { |constant| group.constants[constant] = Object.const_get(constant) }
        true
      rescue LoadError
        @groups.delete(name)
        raise
      end

      def hide
        @groups.each_value do |group|
          group.constants.each { |constant, value| Object.send(:remove_const, constant) && const_set(constant, value) }
          group.state = :hidden
        end
        # A file can be required by more than one name.
        @groups.to_a.each { |name, group| @groups["#{name}.rb"] ||= group }
      end

      def require(name)
        name = name.to_path if name.respond_to?(:to_path)
        if @loading
          @loading.needs << name
          load(name)
        else
          group = @groups[name] || @groups["#{name}.so"]
          group ? show(group) : load_file(name)
        end
      end

      def load_file(name) = Kernel.instance_method(:__require).bind_call(self, name)

      private

      # Whether it was hidden.
      def show(group)
        return false if group.state == :shown

        group.state = :shown
        group.constants.each { |constant, value| Object.const_set(constant, value) }
        group.needs.each { |name| @groups[name] && show(@groups[name]) }
        true
      end
    end
  end

  # What there is not in WebAssembly says so, in words that `Failure` knows, instead of doing half of it.
  module Missing
    PROCESSES = "WebAssembly cannot start processes"
    THREADS = "WebAssembly cannot start threads"

    def self.define(object, message, *names)
      names.each { |name| object.define_method(name) { |*, **, &_| raise NotImplementedError, message } }
    end
  end
end

# What C makes of the environment is ASCII here, whatever the locale says.
ENV.singleton_class.prepend(Module.new do
  %i[[] fetch values values_at to_a to_h to_hash assoc select filter reject slice except invert inspect].each do |name|
    define_method(name) { |*arguments, &block| as_text(super(*arguments, &block)) }
  end

  def each(&block) = block ? to_h.each(&block) && self : super
  alias_method :each_pair, :each

  private

  def as_text(value)
    case value
    when String then value.ascii_only? ? value : value.dup.force_encoding(Encoding::UTF_8).freeze
    when Array then value.map { |item| as_text(item) }
    when Hash then value.to_h { |name, item| [as_text(name), as_text(item)] }
    else value
    end
  end
end)

module Kernel
  alias_method :__require, :require
  private :__require

  def require(name) = Belljar::Library.require(name)

  def at_exit(&block)
    raise ArgumentError, "called without block" unless block

    Belljar::Exits::HANDLERS << block
    block
  end

  module_function :require, :at_exit

  # All that there is can be required without it.
  def gem(name, *) = true
  private :gem
end

[Kernel, Kernel.singleton_class].each do |object|
  Belljar::Missing.define(object, Belljar::Missing::PROCESSES, :system, :spawn, :exec, :fork, :`)
  object.send(:private, :system, :spawn, :exec, :fork, :`) if object == Kernel
end
Belljar::Missing.define(Process.singleton_class, Belljar::Missing::PROCESSES, :spawn, :exec, :fork, :daemon, :kill)
Belljar::Missing.define(IO.singleton_class, Belljar::Missing::PROCESSES, :popen, :pipe)
Belljar::Missing.define(Thread.singleton_class, Belljar::Missing::THREADS, :new, :start, :fork)
Belljar::Missing.define(Ractor.singleton_class, Belljar::Missing::THREADS, :new)

# Gems that come with Ruby.
$LOAD_PATH.uniq!
$LOAD_PATH.concat(Dir["/usr/local/lib/ruby/gems/*/gems/*/lib"].sort)
$stdout.sync = $stderr.sync = true
Dir.chdir("/box")

# Part of every Ruby that is started from the command line: `pp` loads itself there, the rest comes with `rubygems`.
require "error_highlight"
require "did_you_mean"
require "pp"
require "monitor"
require "rubygems/requirement"
Belljar.preload(%w[
  json prism set time date stringio strscan securerandom digest digest/sha2 digest/md5 erb ostruct csv optparse forwardable delegate
  etc tempfile tmpdir fileutils benchmark timeout yaml psych matrix prime logger uri shellwords singleton observer base64 English tsort
  weakref find open3 pathname zlib random/formatter json/add/core
])
