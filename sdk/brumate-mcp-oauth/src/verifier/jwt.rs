//! Signed access tokens (JSON Web Token, RFC 7519; as access tokens, RFC 9068).

use super::jwk::VerificationKeys;
use crate::access::Access;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How far the clocks of issuer and server may differ.
const LEEWAY: Duration = Duration::from_secs(60);

/// Claims that only ID tokens of OpenID Connect have. Such a token is for the client, and is no access token.
const CLAIMS_OF_ID_TOKENS: [&str; 3] = ["nonce", "at_hash", "c_hash"];

/// The reason why a token is not valid.
pub(super) type InvalidReason = &'static str;

/// A token whose signature is not checked yet.
#[derive(Debug)]
pub(super) struct Jwt<'a> {
    header: Header,
    claims: Map<String, Value>,
    signed: &'a str,
    signature: Vec<u8>,
}

#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Extensions that must be understood. None is.
    crit: Option<Value>,
}

impl<'a> Jwt<'a> {
    /// Reads a token in the compact form (RFC 7515, section 3.1).
    pub(super) fn parse(token: &'a str) -> Result<Self, InvalidReason> {
        let (signed, signature) = token.rsplit_once('.').ok_or("it is no JWT")?;
        let (header, claims) = signed.split_once('.').ok_or("it is no JWT")?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| "it is no JWT");
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| "its header cannot be read")?;
        let claims = serde_json::from_slice(&decode(claims)?).map_err(|_| "its claims cannot be read")?;
        let signature = decode(signature)?;
        if header.crit.is_some() {
            return Err("it has extensions that are not known");
        }
        let kind = header.typ.as_deref().map(|kind| kind.to_ascii_lowercase());
        let kind = kind.as_deref().map(|kind| kind.strip_prefix("application/").unwrap_or(kind));
        if !matches!(kind, None | Some("jwt" | "at+jwt")) {
            return Err("it is of another type than `at+jwt` and `JWT`");
        }
        Ok(Self { header, claims, signed, signature })
    }

    /// Returns the id of its key (`kid`).
    pub(super) fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// Checks the signature and the claims at the time `now`. `Protect` checks the audience.
    pub(super) fn verify(
        self,
        keys: &VerificationKeys,
        issuer: &str,
        now: SystemTime,
    ) -> Result<Access, InvalidReason> {
        let Self { header, mut claims, signed, signature } = self;
        if !keys.verify(&header.alg, header.kid.as_deref(), signed.as_bytes(), &signature) {
            return Err("none of the issuer's keys has signed it");
        }
        if claims.get("iss").and_then(Value::as_str) != Some(issuer) {
            return Err("it is of another issuer");
        }
        if CLAIMS_OF_ID_TOKENS.iter().any(|claim| claims.contains_key(*claim)) {
            return Err("it is an ID token, and no access token");
        }
        let expires_at = time(&claims, "exp")?.ok_or("it does not say when it expires")?;
        if expires_at + LEEWAY <= now {
            return Err("it has expired");
        }
        if time(&claims, "nbf")?.is_some_and(|begins| begins > now + LEEWAY) {
            return Err("it is not valid yet");
        }
        let client_id = ["client_id", "azp", "cid"].iter().find_map(|name| claims.get(*name)?.as_str());
        let client_id = client_id.map(str::to_owned);
        let subject = claims.get("sub").and_then(Value::as_str).map(str::to_owned).or_else(|| client_id.clone());
        let mut access = Access::new(subject.ok_or("it has no subject")?);
        access.scopes = match claims.get("scope").or_else(|| claims.get("scp")) {
            Some(Value::String(scopes)) => scopes.split_ascii_whitespace().map(str::to_owned).collect(),
            other => texts(other),
        };
        access.audience = texts(claims.get("aud"));
        access.client_id = client_id;
        access.issuer = Some(issuer.to_owned());
        access.expires_at = Some(expires_at + LEEWAY);
        for read in ["iss", "sub", "aud", "exp", "nbf", "scope"] {
            claims.remove(read);
        }
        access.claims = claims;
        Ok(access)
    }
}

/// Returns the texts of a claim that is a text or a list of texts.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Reads a time in seconds since 1970, which may have a fraction (RFC 7519, `NumericDate`).
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<SystemTime>, InvalidReason> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = seconds.and_then(|seconds| UNIX_EPOCH.checked_add(seconds));
    // A far later time would overflow in additions.
    let far = Duration::from_secs(1 << 40);
    time.filter(|time| *time < UNIX_EPOCH + far).map(Some).ok_or("its times cannot be read")
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::jwk::JwkSet;
    use super::*;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::json;

    pub(in super::super) const ISSUER: &str = "https://auth.example";

    /// A key pair of an issuer.
    pub(in super::super) struct Issuer(EcdsaKeyPair);

    impl Issuer {
        pub(in super::super) fn new() -> Self {
            let random = SystemRandom::new();
            let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
            Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random).unwrap())
        }

        pub(in super::super) fn public(&self, id: &str) -> Value {
            let point = self.0.public_key().as_ref();
            let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            json!({"kty": "EC", "crv": "P-256", "kid": id, "x": encode(&point[1..33]), "y": encode(&point[33..])})
        }

        fn keys(&self) -> VerificationKeys {
            serde_json::from_value::<JwkSet>(json!({"keys": [self.public("one")]})).unwrap().into()
        }

        pub(in super::super) fn sign(&self, header: &Value, claims: &Value) -> String {
            let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let text = format!("{}.{}", encode(header), encode(claims));
            let signature = self.0.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
            format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
        }
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn verify(issuer: &Issuer, token: &str) -> Result<Access, InvalidReason> {
        Jwt::parse(token)?.verify(&issuer.keys(), ISSUER, at(1000))
    }

    #[test]
    fn what_a_token_grants_is_read() {
        let issuer = Issuer::new();
        let header = json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"});
        let claims = json!({
            "iss": ISSUER, "sub": "ada", "aud": ["https://a", "https://b"], "exp": 2000, "nbf": 1000.5, "client_id": "app",
            "scope": "read  write", "team": 7,
        });
        let access = verify(&issuer, &issuer.sign(&header, &claims)).unwrap();
        assert_eq!((access.subject.as_str(), access.client_id.as_deref()), ("ada", Some("app")));
        assert_eq!(
            (&access.scopes, &access.audience),
            (&vec!["read".into(), "write".into()], &vec!["https://a".into(), "https://b".into()])
        );
        assert_eq!(access.expires_at, Some(at(2000) + LEEWAY));
        assert_eq!(access.claims["team"], 7);
        // As Entra and Okta have it.
        let claims = json!({"iss": ISSUER, "aud": "https://a", "exp": 2000, "azp": "app", "scp": ["read"]});
        let access = verify(&issuer, &issuer.sign(&json!({"alg": "ES256"}), &claims)).unwrap();
        assert_eq!((access.subject.as_str(), access.scopes), ("app", vec!["read".to_owned()]));
    }

    #[test]
    fn what_is_wrong_with_a_token_is_said() {
        let issuer = Issuer::new();
        let good = json!({"iss": ISSUER, "sub": "ada", "aud": "https://a", "exp": 2000});
        let header = json!({"alg": "ES256", "kid": "one"});
        let with = |value: &Value, name: &str, new: Value| {
            let mut value = value.clone();
            value[name] = new;
            value
        };
        let claim = |name: &str, value: Value| issuer.sign(&header, &with(&good, name, value));
        let head = |name: &str, value: Value| issuer.sign(&with(&header, name, value), &good);
        assert!(verify(&issuer, &issuer.sign(&header, &good)).is_ok());
        for (token, reason) in [
            (claim("iss", json!("https://auth.example/")), "another issuer"),
            (claim("iss", Value::Null), "another issuer"),
            (claim("exp", json!(940)), "expired"),
            (claim("exp", json!("2000")), "times cannot be read"),
            (claim("exp", json!(1e300)), "times cannot be read"),
            (claim("exp", json!(-1)), "times cannot be read"),
            (claim("nbf", json!(1061)), "not valid yet"),
            (claim("nonce", json!("x")), "ID token"),
            (claim("at_hash", json!("x")), "ID token"),
            (claim("sub", Value::Null), "no subject"),
            (head("typ", json!("dpop+jwt")), "another type"),
            (head("typ", json!("logout+jwt")), "another type"),
            (head("crit", json!(["exp"])), "extensions"),
            (head("alg", json!("none")), "none of the issuer's keys"),
            (head("alg", json!("HS256")), "none of the issuer's keys"),
            (head("alg", json!("ES384")), "none of the issuer's keys"),
            (head("kid", json!("two")), "none of the issuer's keys"),
            (Issuer::new().sign(&header, &good), "none of the issuer's keys"),
            ("a.b".to_owned(), "no JWT"),
            ("..".to_owned(), "cannot be read"),
            (String::new(), "no JWT"),
        ] {
            let refused = verify(&issuer, &token).unwrap_err();
            assert!(refused.contains(reason), "{refused} is not {reason}");
        }
        let without_end = issuer.sign(&header, &json!({"iss": ISSUER, "sub": "ada"}));
        assert_eq!(verify(&issuer, &without_end).unwrap_err(), "it does not say when it expires");
        let signed = issuer.sign(&header, &good);
        let (text, _) = signed.rsplit_once('.').unwrap();
        assert!(verify(&issuer, &format!("{text}.")).is_err(), "without a signature");
    }

    /// The public key as the secret of HS256, the classic confusion (RFC 8725, section 2.1).
    #[test]
    fn a_public_key_is_no_secret() {
        let issuer = Issuer::new();
        let public = issuer.public("one").to_string();
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({"alg": "HS256", "kid": "one"});
        let text = format!("{}.{}", encode(&header), encode(&json!({"iss": ISSUER, "sub": "ada", "exp": 2000})));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public.as_bytes());
        let token = format!("{text}.{}", URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, text.as_bytes())));
        assert_eq!(verify(&issuer, &token).unwrap_err(), "none of the issuer's keys has signed it");
    }
}
