//! The allow-list of system calls.
//!
//! Three programs are installed one after the other; of all their answers the kernel takes the severest.
//!
//! 1. What is allowed, and with which arguments. Everything else does not exist (`ENOSYS`): libraries know how to do
//!    without a call that an older kernel lacks, and new calls of new kernels are refused without being known here.
//! 2. What libraries try on their own account and take a refusal for: paths, other processes, writable code
//!    (`EACCES`).
//! 3. A call that no library makes kills the process ([`FORBIDDEN`]), and so do the numbers of the 32-bit and x32
//!    ABIs, which name other calls.
//!
//! Calls allowed whatever their arguments cost nothing: the kernel keeps their answer in a bitmap.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use super::{JailError, Profile, Report, Wall};

mod calls;
mod forbidden;
mod native;

pub(super) use forbidden::FORBIDDEN;

use calls::{Alternative, Entry, Test};

/// The architecture this binary was built for, and the only one whose calls pass.
#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// Numbers from here on belong to the x32 ABI (`__X32_SYSCALL_BIT`); nothing else lies there.
const X32_BIT: u32 = 0x4000_0000;

/// Classic BPF instructions, from the kernel's BPF documentation: load the word at an offset (0: the call's number),
/// jump if greater or equal, return.
const BPF_LD_W_ABS: u16 = 0x20;
const BPF_JMP_JGE_K: u16 = 0x35;
const BPF_RET_K: u16 = 0x06;
/// `SECCOMP_RET_KILL_PROCESS`.
const KILL_PROCESS: u32 = 0x8000_0000;

/// Installs the allow-list of `profile`. The last step into the jail.
pub(super) fn install(profile: Profile, report: &mut Report) -> Result<(), JailError> {
    let programs = programs(profile)?;
    let length: usize = programs.iter().map(Vec::len).sum();
    for program in &programs {
        apply(program)?;
    }
    let detail = format!("{} programs, {length} instructions", programs.len());
    report.active(Wall::Seccomp, detail);
    Ok(())
}

/// Installs the supervisor's own, shorter allow-list.
pub(super) fn install_supervisor() -> Result<(), JailError> {
    apply(&compile(&calls::supervisor(), SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow)?)?;
    apply(&deadly(Profile::Zygote)?)
}

fn apply(program: &BpfProgram) -> Result<(), JailError> {
    seccompiler::apply_filter(program).map_err(|error| JailError::Seccomp(error.to_string()))
}

/// The programs of a profile, in the order in which they are to be installed.
fn programs(profile: Profile) -> Result<[BpfProgram; 3], JailError> {
    let allowed = compile(&calls::allowed(profile), SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow)?;
    let denied = compile(&forbidden::denied(), SeccompAction::Allow, SeccompAction::Errno(libc::EACCES as u32))?;
    // Installing programs is allowed by the first, so that the others can follow, and ended by the last.
    Ok([allowed, denied, deadly(profile)?])
}

/// Returns the programs of a native program and the processes that it starts, in the order in which they are to be installed.
/// `network`: sockets of the internet families may be made.
pub(super) fn native_programs(network: bool) -> Result<Vec<BpfProgram>, JailError> {
    let allowed = compile(&native::allowed(network), SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow)?;
    let denied = compile(&native::denied(), SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?;
    // The last one ends the installing of programs.
    Ok(vec![allowed, deadly_calls(Vec::new())?, denied])
}

/// Installs programs of [`native_programs`].
pub(super) fn install_native(programs: &[BpfProgram]) -> Result<(), JailError> {
    programs.iter().try_for_each(apply)
}

fn deadly(profile: Profile) -> Result<BpfProgram, JailError> {
    let is_own = |call: &c_long| profile == Profile::Gateway && calls::GATEWAY_SOCKETS.contains(call);
    let forbidden = FORBIDDEN.iter().map(|&(_, call)| call).filter(|call| !is_own(call));
    deadly_calls(forbidden.map(|call| (call, Vec::new())).collect())
}

/// Returns the program that kills at these calls, and at calls of foreign ABIs.
fn deadly_calls(entries: Vec<Entry>) -> Result<BpfProgram, JailError> {
    let mut program = compile(&entries, SeccompAction::Allow, SeccompAction::KillProcess)?;
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    // Jumps are relative, so three instructions in front change nothing behind them.
    program.splice(
        0..0,
        [
            instruction(BPF_LD_W_ABS, 0, 0, 0),
            instruction(BPF_JMP_JGE_K, 0, 1, X32_BIT),
            instruction(BPF_RET_K, 0, 0, KILL_PROCESS),
        ],
    );
    Ok(program)
}

fn compile(entries: &[Entry], otherwise: SeccompAction, on_match: SeccompAction) -> Result<BpfProgram, JailError> {
    let failed = |error: seccompiler::BackendError| JailError::Seccomp(error.to_string());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for (call, alternatives) in entries {
        let compiled = alternatives.iter().map(rule).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        #[allow(clippy::useless_conversion, reason = "c_long is narrower elsewhere")]
        rules.entry(i64::from(*call)).or_default().extend(compiled);
    }
    SeccompFilter::new(rules, otherwise, on_match, ARCH).and_then(BpfProgram::try_from).map_err(failed)
}

fn rule(alternative: &Alternative) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = alternative
        .iter()
        .map(|condition| {
            let (op, value) = match condition.test {
                Test::Is(value) => (SeccompCmpOp::Eq, value),
                Test::Masked(mask, value) => (SeccompCmpOp::MaskedEq(mask), value),
            };
            let width = if condition.wide { SeccompCmpArgLen::Qword } else { SeccompCmpArgLen::Dword };
            SeccompCondition::new(condition.argument, width, op, value)
        })
        .collect::<Result<Vec<_>, _>>()?;
    SeccompRule::new(conditions)
}

#[cfg(test)]
mod tests;
