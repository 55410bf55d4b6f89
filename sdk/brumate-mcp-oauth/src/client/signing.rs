//! Assertions that are signed with a client's key (RFC 7523).

use super::AuthError;
use crate::oauth::{now, random_token};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;
use std::fmt;

/// Lifetime of an assertion, in seconds.
const LIFETIME: u64 = 300;

/// An algorithm of JSON Web Signature (RFC 7518).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SigningAlgorithm {
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// Ed25519.
    EdDsa,
}

impl SigningAlgorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// A key to sign with.
pub(super) struct SigningKey {
    algorithm: SigningAlgorithm,
    pair: KeyPair,
}

enum KeyPair {
    Ec(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Ed(Ed25519KeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a private key: PKCS #8 in PEM.
    pub(super) fn read(pem: &str, algorithm: SigningAlgorithm) -> Result<Self, AuthError> {
        let unusable = |reason: String| AuthError(format!("the private key for {}: {reason}", algorithm.name()));
        let body: String = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----")).collect();
        if !pem.contains("-----BEGIN PRIVATE KEY-----") {
            return Err(unusable("it is no PKCS #8 key in PEM (`BEGIN PRIVATE KEY`)".to_owned()));
        }
        let der = STANDARD.decode(body).map_err(|error| unusable(error.to_string()))?;
        let pair = match algorithm {
            SigningAlgorithm::Es256 => {
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &SystemRandom::new()).map(KeyPair::Ec)
            }
            SigningAlgorithm::Rs256 => RsaKeyPair::from_pkcs8(&der).map(|pair| KeyPair::Rsa(Box::new(pair))),
            SigningAlgorithm::EdDsa => Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(KeyPair::Ed),
        };
        Ok(Self { algorithm, pair: pair.map_err(|error| unusable(error.to_string()))? })
    }

    /// Signs that the client `id` is who asks the authorization server `issuer`.
    pub(super) fn assertion(&self, id: &str, issuer: &str) -> Result<String, AuthError> {
        let header = json!({"alg": self.algorithm.name(), "typ": "JWT"});
        let issued = now();
        let claims = json!({
            "iss": id,
            "sub": id,
            "aud": issuer,
            "iat": issued,
            "exp": issued + LIFETIME,
            "jti": random_token(),
        });
        let encode = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(header), encode(claims));
        let signature = self.sign(text.as_bytes()).map_err(|_| AuthError::new("the private key does not sign"))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, ring::error::Unspecified> {
        let random = SystemRandom::new();
        match &self.pair {
            KeyPair::Ec(pair) => Ok(pair.sign(&random, text)?.as_ref().to_vec()),
            KeyPair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature)?;
                Ok(signature)
            }
            KeyPair::Ed(pair) => Ok(pair.sign(text).as_ref().to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair as _, UnparsedPublicKey};

    #[test]
    fn an_assertion_is_signed_with_the_key() {
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let pem =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der.as_ref()));
        let key = SigningKey::read(&pem, SigningAlgorithm::Es256).unwrap();
        let assertion = key.assertion("me", "https://issuer").unwrap();
        let (text, signature) = assertion.rsplit_once('.').unwrap();
        let KeyPair::Ec(pair) = &key.pair else { panic!("of that kind") };
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref());
        public.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(text.split('.').nth(1).unwrap()).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((&claims["sub"], &claims["aud"]), (&"me".into(), &"https://issuer".into()));
        for (pem, algorithm) in [("nonsense", SigningAlgorithm::Es256), (pem.as_str(), SigningAlgorithm::Rs256)] {
            SigningKey::read(pem, algorithm).unwrap_err();
        }
    }
}
