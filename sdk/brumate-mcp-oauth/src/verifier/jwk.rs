//! Public keys of authorization servers (JSON Web Key, RFC 7517 and 7518), and the signatures that they check.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

/// The most keys of one issuer that are read.
const MAX_KEYS: usize = 100;

/// A set of keys, as an issuer publishes it.
#[derive(Deserialize)]
pub(super) struct JwkSet {
    #[serde(default)]
    keys: Vec<Jwk>,
}

/// A key, as an issuer publishes it. Members that do not matter to signatures are not read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The keys of an issuer that can check signatures.
#[derive(Debug, Default)]
pub(super) struct VerificationKeys(Vec<VerificationKey>);

/// A public key.
#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    /// The only algorithm that it may be used with, if it names one.
    algorithm: Option<String>,
    material: KeyMaterial,
}

/// The key itself.
#[derive(Debug)]
enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    /// An uncompressed point.
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl From<JwkSet> for VerificationKeys {
    /// Takes the keys that are for signatures and of a known kind.
    fn from(published: JwkSet) -> Self {
        Self(published.keys.into_iter().take(MAX_KEYS).filter_map(VerificationKey::read).collect())
    }
}

impl VerificationKeys {
    /// Returns whether there is a key of that name.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|key| key.id.as_deref() == Some(id))
    }

    /// Returns whether one of the keys has signed `text`. With `id`, only the keys of that name are tried.
    pub(super) fn verify(&self, algorithm: &str, id: Option<&str>, text: &[u8], signature: &[u8]) -> bool {
        let named = self.0.iter().filter(|key| id.is_none() || key.id.as_deref() == id);
        named
            .filter(|key| key.algorithm.as_deref().is_none_or(|only| only == algorithm))
            .any(|key| key.material.verify(algorithm, text, signature))
    }
}

impl VerificationKey {
    fn read(key: Jwk) -> Option<Self> {
        let signs = key.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && key.key_ops.is_none_or(|operations| operations.iter().any(|operation| operation == "verify"));
        if !signs {
            return None;
        }
        let decode = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?.trim_end_matches('=')).ok();
        let point = |size: usize, x: Option<String>, y: Option<String>| {
            let (x, y) = (decode(x)?, decode(y)?);
            (x.len() == size && y.len() == size).then(|| [&[4], &x[..], &y[..]].concat())
        };
        let material = match (key.kty.as_str(), key.crv.as_deref()) {
            ("RSA", _) => KeyMaterial::Rsa { n: decode(key.n)?, e: decode(key.e)? },
            ("EC", Some("P-256")) => KeyMaterial::P256(point(32, key.x, key.y)?),
            ("EC", Some("P-384")) => KeyMaterial::P384(point(48, key.x, key.y)?),
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(decode(key.x)?),
            // Keys with a shared secret (`oct`) too: whoever can check such a signature can also make one.
            _ => return None,
        };
        Some(Self { id: key.kid, algorithm: key.alg, material })
    }
}

impl KeyMaterial {
    /// Returns whether the key has signed `text` with that algorithm. Each kind of key has its own algorithms, so that
    /// no signature is checked by a method that its key is not for.
    fn verify(&self, algorithm: &str, text: &[u8], signature: &[u8]) -> bool {
        let curve = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(text, signature).is_ok()
        };
        match (self, algorithm) {
            (Self::Rsa { n, e }, _) => rsa_parameters(algorithm)
                .is_some_and(|parameters| RsaPublicKeyComponents { n, e }.verify(parameters, text, signature).is_ok()),
            (Self::P256(key), "ES256") => curve(&ECDSA_P256_SHA256_FIXED, key),
            (Self::P384(key), "ES384") => curve(&ECDSA_P384_SHA384_FIXED, key),
            (Self::Ed25519(key), "EdDSA" | "Ed25519") => curve(&ED25519, key),
            _ => false,
        }
    }
}

fn rsa_parameters(algorithm: &str) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        "RS256" => &RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &RSA_PSS_2048_8192_SHA256,
        "PS384" => &RSA_PSS_2048_8192_SHA384,
        "PS512" => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn keys(keys: Value) -> VerificationKeys {
        serde_json::from_value::<JwkSet>(json!({ "keys": keys })).unwrap().into()
    }

    fn decode(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// RFC 8037, appendix A.4.
    #[test]
    fn the_example_of_ed25519_verifies() {
        let key = json!({
            "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        let text = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature =
            decode("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
        let set = keys(json!([key]));
        let verify = |algorithm, id, text: &str| set.verify(algorithm, id, text.as_bytes(), &signature);
        assert!(verify("EdDSA", None, text) && verify("EdDSA", Some("one"), text));
        assert!(!verify("EdDSA", Some("two"), text), "another key's name");
        assert!(!verify("EdDSA", None, &format!("{text}x")), "another text");
        for algorithm in ["none", "", "HS256", "RS256", "ES256", "eddsa"] {
            assert!(!verify(algorithm, None, text), "{algorithm}");
        }
    }

    #[test]
    fn keys_for_other_purposes_are_passed_over() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        for key in [
            json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "use": "enc", "x": x}),
            json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "key_ops": ["sign"], "x": x}),
            json!({"kty": "OKP", "crv": "X25519", "kid": "k", "x": x}),
            json!({"kty": "oct", "kid": "k", "k": "c2VjcmV0"}),
            json!({"kty": "EC", "crv": "P-256", "kid": "k", "x": x}),
            json!({"kty": "EC", "crv": "P-256", "kid": "k", "x": x, "y": "AA"}),
            json!({"kty": "RSA", "kid": "k", "n": "***", "e": "AQAB"}),
            json!({"kty": "RSA", "kid": "k"}),
        ] {
            assert!(!keys(json!([key.clone()])).has("k"), "{key}");
        }
        let many: Vec<Value> = (0..MAX_KEYS + 1)
            .map(|number| json!({"kty": "OKP", "crv": "Ed25519", "kid": number.to_string(), "x": x}))
            .collect();
        let set = keys(many.into());
        assert!(set.has("99") && !set.has("100"));
    }
}
