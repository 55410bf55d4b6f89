//! TLS configuration: trusts the system's certificates, or those of the settings.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::index::error::IndexError;
use crate::settings::Tls;

/// Makes a TLS configuration that trusts the certificates of `tls`.
///
/// # Errors
///
/// [`IndexError`] when the file of certificates cannot be read, or has none.
pub fn configuration(tls: &Tls) -> Result<ClientConfig, IndexError> {
    let mut roots = RootCertStore::empty();
    match &tls.bundle {
        Some(path) => {
            let shown = path.display();
            let wrong = |error: &dyn std::fmt::Display| IndexError::Settings(format!("certificates {shown}: {error}"));
            let found = CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| wrong(&error))?;
                roots.add(certificate).map_err(|error| wrong(&error))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"the file has none"));
            }
        }
        None => {
            // Reads SSL_CERT_FILE and SSL_CERT_DIR, else the system's store.
            let found = rustls_native_certs::load_native_certs();
            for error in &found.errors {
                tracing::debug!(%error, "a certificate of the system cannot be read");
            }
            // Stores have old certificates that this library cannot read; they are skipped.
            roots.add_parsable_certificates(found.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let configuration = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| IndexError::Settings(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(configuration)
}
