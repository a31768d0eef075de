//! Hints as users of other libraries write them.

use super::candidates::Setting;

/// A file for `TRIB_HINTS_FILE`: a hint a line.
pub fn ours(setting: &Setting) -> String {
    setting.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
}

/// A file for `ROMIO_HINTS`: what ROMIO knows of the setting, a key and a value a line. Collective buffering is switched on,
/// or ROMIO may not use the rest.
pub fn romio(setting: &Setting) -> String {
    let known = setting.iter().filter(|(key, _)| is_of_romio(key));
    let lines: String = known.map(|(key, value)| format!("{key} {value}\n")).collect();
    if lines.is_empty() { lines } else { format!("romio_cb_write enable\n{lines}") }
}

/// A value of `MPICH_MPIIO_HINTS`, for all files of a name.
pub fn cray(setting: &Setting, file: &str) -> String {
    let known: Vec<_> =
        setting.iter().filter(|(key, _)| is_of_romio(key)).map(|(key, value)| format!("{key}={value}")).collect();
    if known.is_empty() { String::new() } else { format!("{file}:{}", known.join(":")) }
}

/// The command that gives new files of a directory on Lustre the stripes of the setting; empty if it has none.
pub fn lfs(setting: &Setting) -> String {
    let options = [("striping_factor", "-c"), ("striping_unit", "-S")].map(|(key, option)| {
        setting.iter().find(|(known, _)| known == key).map(|(_, value)| format!("{option} {value} "))
    });
    let options: String = options.into_iter().flatten().collect();
    if options.is_empty() { options } else { format!("lfs setstripe {options}DIRECTORY") }
}

/// Whether it is one of the hints that ROMIO, and Cray's library, know too.
fn is_of_romio(key: &str) -> bool {
    ["cb_nodes", "cb_buffer_size", "striping_factor", "striping_unit"].contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_what_it_knows() {
        let setting: Setting = [("cb_nodes", "8"), ("trib_kernel_data", "balanced")]
            .map(|(key, value)| (key.into(), value.into()))
            .to_vec();
        assert_eq!(ours(&setting), "cb_nodes=8\ntrib_kernel_data=balanced\n");
        assert_eq!(romio(&setting), "romio_cb_write enable\ncb_nodes 8\n");
        assert_eq!(cray(&setting, "*.nc"), "*.nc:cb_nodes=8");
        let stripes = [("striping_unit", "4194304"), ("cb_nodes", "8"), ("striping_factor", "16")];
        let stripes = stripes.map(|(key, value)| (key.into(), value.into())).to_vec();
        assert_eq!((lfs(&stripes).as_str(), lfs(&setting).as_str()), ("lfs setstripe -c 16 -S 4194304 DIRECTORY", ""));
        assert_eq!((romio(&Setting::new()), cray(&Setting::new(), "x")), (String::new(), String::new()));
    }
}
