//! Icons, as `data:` URIs that clients show beside names. Spaces are escaped: clients that check schemas take no others for URIs.

/// A bell jar.
pub(crate) const BELLJAR: &str = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2024%2024'%20fill='none'%20stroke='%230a7'%20stroke-width='2'%20stroke-linecap='round'%3E%3Cpath%20d='M12%202v2M6%2020v-8a6%206%200%200%201%2012%200v8M3%2020h18'/%3E%3C/svg%3E";
/// Something that starts.
pub(crate) const RUN: &str = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2024%2024'%20fill='%230a7'%3E%3Cpath%20d='M7%204l12%208-12%208z'/%3E%3C/svg%3E";
/// Lines.
pub(crate) const LIST: &str = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2024%2024'%20stroke='%230a7'%20stroke-width='2'%20stroke-linecap='round'%3E%3Cpath%20d='M5%206h14M5%2012h14M5%2018h14'/%3E%3C/svg%3E";
