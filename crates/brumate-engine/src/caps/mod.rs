//! What a guest may do in the world, without any ABI: policy lives here, `libc` only translates.

pub(crate) mod clock;
pub(crate) mod network;
pub(crate) mod output;
pub(crate) mod rehearsal;

/// Fills `bytes` from the kernel's generator; fresh in every fork.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), rustix::io::Errno> {
    if rehearsal::fill(bytes) {
        return Ok(());
    }
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
