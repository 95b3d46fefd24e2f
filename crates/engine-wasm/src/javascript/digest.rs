//! Hashes for `crypto`.

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// The hash of some bytes. None for a name that is not known.
pub(super) fn hash(algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    match algorithm {
        "md5" => Some(Md5::digest(bytes).to_vec()),
        "sha1" => Some(Sha1::digest(bytes).to_vec()),
        "sha224" => Some(Sha224::digest(bytes).to_vec()),
        "sha256" => Some(Sha256::digest(bytes).to_vec()),
        "sha384" => Some(Sha384::digest(bytes).to_vec()),
        "sha512" => Some(Sha512::digest(bytes).to_vec()),
        _ => None,
    }
}

/// The same with a key.
pub(super) fn hmac(algorithm: &str, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    fn keyed<M: Mac + KeyInit>(key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        // Any length of key will do.
        let mut mac = <M as KeyInit>::new_from_slice(key).ok()?;
        mac.update(bytes);
        Some(mac.finalize().into_bytes().to_vec())
    }
    match algorithm {
        "md5" => keyed::<Hmac<Md5>>(key, bytes),
        "sha1" => keyed::<Hmac<Sha1>>(key, bytes),
        "sha224" => keyed::<Hmac<Sha224>>(key, bytes),
        "sha256" => keyed::<Hmac<Sha256>>(key, bytes),
        "sha384" => keyed::<Hmac<Sha384>>(key, bytes),
        "sha512" => keyed::<Hmac<Sha512>>(key, bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: Option<Vec<u8>>) -> String {
        let digits =
            |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).expect("a digit"));
        bytes.expect("a known algorithm").iter().flat_map(digits).collect()
    }

    #[test]
    fn known_answers() {
        assert_eq!(hex(hash("md5", b"abc")), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(hex(hash("sha1", b"abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(hex(hash("sha256", b"abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hex(hmac("sha1", b"key", b"data")), "104152c5bfdca07bc633eebd46199f0255c9f49d");
        assert_eq!(hash("sha3", b""), None);
    }
}
