//! Writes hints in the formats of other MPI I/O libraries.

use super::candidates::Setting;

/// Returns the text of a file for `TRIB_HINTS_FILE`: a hint a line.
pub fn ours(setting: &Setting) -> String {
    setting.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
}

/// Returns the text of a file for `ROMIO_HINTS`: the hints that ROMIO knows, a key and a value a line. The text also
/// switches collective buffering on, because without it ROMIO may ignore the other hints.
pub fn romio(setting: &Setting) -> String {
    let known = setting.iter().filter(|(key, _)| is_of_romio(key));
    let lines: String = known.map(|(key, value)| format!("{key} {value}\n")).collect();
    if lines.is_empty() { lines } else { format!("romio_cb_write enable\n{lines}") }
}

/// Returns a value of the environment variable `MPICH_MPIIO_HINTS` that sets the hints for files called `file`.
pub fn cray(setting: &Setting, file: &str) -> String {
    let known: Vec<_> =
        setting.iter().filter(|(key, _)| is_of_romio(key)).map(|(key, value)| format!("{key}={value}")).collect();
    if known.is_empty() { String::new() } else { format!("{file}:{}", known.join(":")) }
}

/// Returns the `lfs` command that gives new files of a directory on Lustre the stripes of the setting; empty without a
/// stripe hint.
pub fn lfs(setting: &Setting) -> String {
    let options = [("striping_factor", "-c"), ("striping_unit", "-S")].map(|(key, option)| {
        setting.iter().find(|(known, _)| known == key).map(|(_, value)| format!("{option} {value} "))
    });
    let options: String = options.into_iter().flatten().collect();
    if options.is_empty() { options } else { format!("lfs setstripe {options}DIRECTORY") }
}

/// Returns true if ROMIO and Cray's MPI know the hint `key` too.
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
