//! Hashes for `crypto`.

use hmac::digest::{KeyInit, OutputSizeUser};
use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// A hash of what it is given piece by piece.
pub(super) trait Hashing {
    fn update(&mut self, piece: &[u8]);
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// A longer key is its hash, with every algorithm here.
pub(super) const LONGEST_KEY: usize = 128;

struct Plain<D>(D);

impl<D: Digest> Hashing for Plain<D> {
    fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

struct Keyed<M>(M);

impl<M: Mac + OutputSizeUser> Hashing for Keyed<M> {
    fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().into_bytes().to_vec()
    }
}

/// None for a name that is not known.
pub(super) fn hash(algorithm: &str) -> Option<Box<dyn Hashing>> {
    match algorithm {
        "md5" => Some(Box::new(Plain(Md5::new()))),
        "sha1" => Some(Box::new(Plain(Sha1::new()))),
        "sha224" => Some(Box::new(Plain(Sha224::new()))),
        "sha256" => Some(Box::new(Plain(Sha256::new()))),
        "sha384" => Some(Box::new(Plain(Sha384::new()))),
        "sha512" => Some(Box::new(Plain(Sha512::new()))),
        _ => None,
    }
}

/// The same with a key.
pub(super) fn hmac(algorithm: &str, key: &[u8]) -> Option<Box<dyn Hashing>> {
    fn keyed<M: Mac + KeyInit + 'static>(key: &[u8]) -> Option<Box<dyn Hashing>> {
        // Any length of key will do.
        let mac = <M as KeyInit>::new_from_slice(key).ok()?;
        Some(Box::new(Keyed(mac)))
    }
    match algorithm {
        "md5" => keyed::<Hmac<Md5>>(key),
        "sha1" => keyed::<Hmac<Sha1>>(key),
        "sha224" => keyed::<Hmac<Sha224>>(key),
        "sha256" => keyed::<Hmac<Sha256>>(key),
        "sha384" => keyed::<Hmac<Sha384>>(key),
        "sha512" => keyed::<Hmac<Sha512>>(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(hashing: Option<Box<dyn Hashing>>, pieces: &[&[u8]]) -> String {
        let digits =
            |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).expect("a digit"));
        let mut hashing = hashing.expect("a known algorithm");
        for piece in pieces {
            hashing.update(piece);
        }
        hashing.finish().iter().flat_map(digits).collect()
    }

    #[test]
    fn known_answers() {
        assert_eq!(hex(hash("md5"), &[b"abc"]), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(hex(hash("sha1"), &[b"a", b"bc"]), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(
            hex(hash("sha256"), &[b"ab", b"", b"c"]),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(hex(hmac("sha1", b"key"), &[b"da", b"ta"]), "104152c5bfdca07bc633eebd46199f0255c9f49d");
        assert!(hash("sha3").is_none());
    }

    #[test]
    fn a_long_key_is_its_hash() {
        let key = [7; LONGEST_KEY + 1];
        for algorithm in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] {
            let mut hashed = hash(algorithm).expect("known");
            hashed.update(&key);
            let short = hashed.finish();
            assert_eq!(hex(hmac(algorithm, &key), &[b"x"]), hex(hmac(algorithm, &short), &[b"x"]), "{algorithm}");
        }
    }
}
