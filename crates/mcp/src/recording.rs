//! Output that is kept.

/// Bytes in pieces. In one piece they would be moved whenever there are more of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording(Vec<Vec<u8>>);

/// So large that the heap makes each one a block of its own, and leaves no hole when it goes.
const PIECE: usize = 256 << 10;

impl Recording {
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let last = match self.0.last_mut() {
                Some(last) if last.len() < PIECE => last,
                Some(_) | None => self.0.push_mut(Vec::new()),
            };
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - last.len()));
            last.extend_from_slice(now);
            bytes = later;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3 * PIECE + 7).collect();
        let mut recording = Recording::default();
        assert_eq!((recording.len(), recording.bytes()), (0, Vec::new()));
        for part in bytes.chunks(PIECE / 2 + 1) {
            recording.push(part);
        }
        recording.push(&[]);
        assert_eq!((recording.len(), recording.bytes()), (bytes.len(), bytes.clone()));
        assert_eq!(recording.0.len(), 4);
    }
}
