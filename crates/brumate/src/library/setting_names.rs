//! How programs in Rust write settings.

use brumate_setting::{Setting, WrittenSetting};

/// Writes a method of [`SandboxBuilder`](super::SandboxBuilder).
pub(super) fn in_rust(setting: Setting, _value: &str) -> WrittenSetting {
    WrittenSetting::code(match setting {
        Setting::AllowNet => "allow_net",
        Setting::CacheDir => "cache_dir",
        Setting::CpuTimeout => "cpu_timeout",
        Setting::DataDir => "data_dir",
        Setting::Deps => "package",
        Setting::Files => "file_limit",
        Setting::FindLinks => "find_links",
        Setting::MaxConcurrent => "max_concurrent",
        Setting::Memory => "memory_limit",
        Setting::Mount => "mount",
        Setting::Offline => "offline",
        Setting::OutputLimit => "output_limit",
        Setting::Timeout => "timeout",
        _ => return WrittenSetting::words("the library"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_methods_of_the_builder() {
        let builder = include_str!("sandbox_builder.rs");
        for &setting in Setting::ALL {
            let written = in_rust(setting, "");
            if written == WrittenSetting::words("the library") {
                continue;
            }
            let is_method = |name: &str| written == WrittenSetting::code(name.to_owned());
            let mut methods = builder.lines().filter_map(|line| line.trim().strip_prefix("pub fn ")?.split('(').next());
            assert!(methods.any(is_method), "{setting:?} is written {written:?}");
        }
    }
}
