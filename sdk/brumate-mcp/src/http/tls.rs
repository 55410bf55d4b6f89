//! TLS with a certificate chain and its key from PEM files.

use crate::error::ServeError;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// A certificate chain and its private key, for [`App::serve_tls`](crate::App::serve_tls). Clones share them.
///
/// ```no_run
/// use brumate_mcp::{App, HttpOptions, ServeError, Server, Tls};
///
/// # async fn run(server: Server) -> Result<(), ServeError> {
/// let tls = Tls::from_pem_files("chain.pem", "key.pem")?;
/// let listener = tokio::net::TcpListener::bind("0.0.0.0:8443").await?;
/// let options = HttpOptions::new().allow_host("mcp.example.com");
/// App::new().mount("", server, options).serve_tls(listener, tls, std::future::pending()).await
/// # }
/// ```
#[derive(Clone)]
pub struct Tls {
    certificates: PathBuf,
    key: PathBuf,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("certificates", &self.certificates).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads a certificate chain, the server's own certificate first, and its private key (PKCS #8, PKCS #1 or SEC 1).
    /// Both files are PEM.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if a file cannot be read, or if certificate and key do not match.
    pub fn from_pem_files(certificates: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Self, ServeError> {
        let (certificates, key) = (certificates.into(), key.into());
        let config = Arc::new(RwLock::new(load(&certificates, &key)?));
        Ok(Self { certificates, key, config })
    }

    /// Reads both files again, for connections from now on.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tls::from_pem_files`]. The old certificate stays in use then.
    pub fn reload(&self) -> Result<(), ServeError> {
        let config = load(&self.certificates, &self.key)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn load(certificates: &Path, key: &Path) -> Result<Arc<ServerConfig>, ServeError> {
    let wrong = |path: &Path, error: &dyn fmt::Display| ServeError::Setup(format!("{}: {error}", path.display()));
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(certificates, &error))?;
    if chain.is_empty() {
        return Err(wrong(certificates, &"there is no certificate in it"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|error| wrong(certificates, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
