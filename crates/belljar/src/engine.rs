//! The engines and the runtime, from settings.

use std::sync::Arc;

use engine_native::{NativeConfig, NativeEngine};
use jail::Layer;
use runtime::Runtime;

use crate::settings::Settings;

/// Starts the native engine. `without` is empty everywhere but in tests of the layers.
pub(crate) async fn native(settings: &Settings, without: Vec<Layer>) -> anyhow::Result<NativeEngine> {
    let config = NativeConfig {
        // This very binary, also when its file has been replaced since.
        launcher: "/proc/self/exe".into(),
        tools: settings.tools.clone(),
        scratch: settings.scratch.clone(),
        require: settings.require,
        without,
    };
    Ok(NativeEngine::start(config).await?)
}

/// A runtime over all engines of this build.
pub(crate) async fn runtime(settings: &Settings, without: Vec<Layer>) -> anyhow::Result<Runtime> {
    let native = native(settings, without).await?;
    Ok(Runtime::new(settings.policy.clone(), vec![Arc::new(native)]))
}
