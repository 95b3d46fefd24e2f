pub fn detect(){} pub fn strip_fence(){} pub struct Detected; pub struct DetectError;
