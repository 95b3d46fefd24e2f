//! What a session is given: its jail, files and packages.

use std::sync::{Arc, PoisonError};

use jail::{File, Place, Purpose, Spec, Writing};
use sandbox::{EngineError, FileError, Layer, LayerKind, Plan, PlannedFile, Refusal, WorkspacePath};

use super::room::{News, file_error};
use super::{A_LONG_TIME, NativeSession};
use crate::error::NativeError;
use crate::tools::FoundTool;
use crate::{Shared, Tool, recipe};

impl NativeSession {
    pub(super) async fn put_files(&mut self, files: &[PlannedFile]) -> Result<(), NativeError> {
        for file in files {
            self.put(&file.path, &file.contents, Writing::Replace).await.map_err(|error| {
                let message = format!("`{}` cannot be put into the session's workspace: {error}", file.path);
                NativeError::Refused(Refusal::new("files", message, "`list_files` says what is there already"))
            })?;
        }
        Ok(())
    }

    pub(super) async fn put(&mut self, path: &WorkspacePath, contents: &[u8], mode: Writing) -> Result<u64, FileError> {
        let file = File { place: Place::Workspace, path: path.to_string(), length: contents.len() as u64 };
        self.known = None;
        self.room.write(&file, contents, mode).map_err(EngineError::new)?;
        loop {
            match self.room.news().await.map_err(EngineError::new)? {
                News::Written(written) => return written.map_err(file_error),
                News::Ended(end) => self.forget(&[end.batch]),
                News::Cleared(_) => self.forget_all(),
                News::CpuOver | News::Resting(_) => {}
            }
        }
    }

    /// Makes packages visible, and returns the folders in which an interpreter looks for them.
    pub(super) async fn show(&mut self, layer: Option<&Layer>, tool: &FoundTool) -> Result<Vec<String>, NativeError> {
        let Some(layer) = layer else { return Ok(Vec::new()) };
        if tool.toolchain.packages == sandbox::PackageUse::None {
            return Err(NativeError::NoPackages(tool.toolchain.program));
        }
        if let Some((_, path)) = self.layers.iter().find(|(shown, _)| shown.id == layer.id) {
            return Ok(vec![path.clone()]);
        }
        let number = self.layers.len() + 1;
        if number > jail::SESSION_PLACES {
            let message = format!("this session was given packages {} times already", jail::SESSION_PLACES);
            return Err(NativeError::Refused(Refusal::new("packages", message, "open another session")));
        }
        let (target, path) = match layer.kind {
            LayerKind::Python => (jail::python_place(number), jail::python_place(number)),
            LayerKind::Node => {
                let place = jail::node_place(number);
                let path = place.parent().map(std::path::Path::to_path_buf).unwrap_or_default();
                (place, path)
            }
        };
        self.room.show(&self.shared.launcher, &layer.folder, &target).await?;
        let path = path.to_string_lossy().into_owned();
        self.layers.push((layer.clone(), path.clone()));
        Ok(vec![path])
    }
}

impl Shared {
    /// The jail of a session: it has what any tool needs of the host, since the next cell may be in another language.
    pub(super) fn session_spec(&self, first: &Plan) -> Result<Spec, NativeError> {
        let walls = self.walls()?;
        if !matches!(walls, jail::Walls::Namespaces { .. }) {
            let message = "this host gives runs no root of their own, so it has no native sessions";
            return Err(NativeError::Refused(Refusal::new("engine", message, "use engine `wasm`")));
        }
        let mut view = self.view.clone();
        let all: Vec<Arc<Tool>> = {
            let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
            tools.values().cloned().collect()
        };
        for tool in all.iter().chain(&self.tool_for(first)) {
            recipe::add_reads(&tool.found, &mut view);
        }
        self.can_grant(first)?;
        recipe::add_folders(first, &mut view);
        let limits = sandbox::Limits { wall: A_LONG_TIME, cpu: A_LONG_TIME, ..*first.limits() };
        Ok(Spec {
            view,
            egress: recipe::egress(first),
            limits: recipe::limits(&limits),
            environment: Vec::new(),
            files: Vec::new(),
            commands: Vec::new(),
            purpose: Purpose::Session,
            without: self.without.clone(),
            walls,
        })
    }
}
