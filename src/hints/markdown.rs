//! The hints as a page of documentation.

use std::fmt::Write;

use super::{Hints, OURS, Row};
use crate::exchange::{KERNELS, SLIDING_LIMIT, two_layer};
use crate::schedule::SendMode;

const HEAD: &str = "\
<!-- Generated from src/hints/rows.rs; regenerate with: ./generate -->

# Hints

A hint is a `key=value`. Several are separated by `;` or newlines. `#` starts a comment that ends with the line. Of equal keys
the last wins. Words may be written in capitals too. `trib hints` prints this table with the values in force.

Hints come from several sources. From the highest, these win:

1. `MPICH_MPIIO_HINTS`;
2. arguments of the call: an `MPI_Info` (drop-in, GIO), the text of `trib_open` (C API), the crate, options of the command line;
3. the environment variable `TRIB_HINTS` (the hints themselves);
4. the file that the environment variable `TRIB_HINTS_FILE` names;
5. variables of Intel MPI, ROMIO and Open MPI;
6. the file that `ROMIO_HINTS` names, or else `/etc/romio-hints`;
7. the file that the environment variable `TRIB_ADVICE` names, for files by their names;
8. the defaults below.

A key that is not listed here is ignored, as MPI asks. There is one exception: an unknown key that begins with `trib_` is an
error. For every listed key, a value that is not allowed is an error. The error for a hint that was removed says what takes its place.

## Hints that you have already

The drop-in library, the C API, GIO's functions and the command line also read the hints that are there for other MPI libraries,
whatever MPI the program runs on. (Programs in Rust choose: `Hints::from_env` reads sources 3 and 4, `hints::Environment` reads all.)
Each source ranks as it does in its own library: Cray's stands above what the program asks for, the others below it.
Variables and files are read once in a process, when it opens its first file. Those of the first rank count. In the C API all ranks
must have the same.

| source | form | what is taken |
|---|---|---|
| `MPICH_MPIIO_HINTS` (HPE Cray MPI) | `pattern:key=value:key=value,pattern:key=value` | the hints of the first pattern that matches the whole name by which the program opens the file: `*` is any characters, `/` too, `?` one, `[a-z]` one of these |
| `ROMIO_HINTS`, `/etc/romio-hints` (ROMIO) | a key and a value a line; `#` in the first column | all; of equal keys the first |
| `ROMIO_FSTYPE_FORCE` (ROMIO) | `lustre:`, `gpfs:`, `ufs:`, `nfs:`, `xfs:` | `trib_driver`: the last three are `posix` |
| `I_MPI_FILESYSTEM_FORCE`, `I_MPI_EXTRA_FILESYSTEM_FORCE` (Intel MPI) | `lustre`, `gpfs`, `ufs`, `nfs` | `trib_driver`, unless `I_MPI_FILESYSTEM` or `I_MPI_EXTRA_FILESYSTEM` is `off` |
| `I_MPI_FILESYSTEM_CB_NODES`, `I_MPI_FILESYSTEM_CB_CONFIG_LIST` (Intel MPI) | a value | `cb_nodes`, `cb_config_list` |
| `OMPI_MCA_io_ompio_num_aggregators` (Open MPI) | a number; 0 and less say nothing | `cb_nodes` |
| `OMPI_MCA_io_ompio_bytes_per_agg` (Open MPI) | bytes | `cb_buffer_size` |

`TRIB_ADVICE` names a file of ours, which `trib advise --advice FILE` writes. A line is `pattern:key=value:key=value`, with patterns
as above, and a file takes the first line for its name. What is wrong in it is no error, but is reported among the hints that are not
used.

These are errors, which name variable, file and line: a line or a variable that cannot be read; a file that `ROMIO_HINTS` names and
that does not exist; a value that is not allowed for a key below. In `/etc/romio-hints`, which users cannot correct, such a line is left
out. What only the other library understands is never an error: lists of hosts in `cb_config_list`, counts of 0 and less, other parameters
of OMPIO, other file systems. The report of the drop-in library (`TRIB_REPORT`) names every hint that was given and is not used, with its
source and the reason.
";

const KERNELS_HEAD: &str = "
## Kernels

What `trib_kernel_meta`, `trib_kernel_data` and `trib_two_layer_outer` take; the first two also take `auto`, their default. `trib-lab algorithms` counts them,
[algorithms](../laboratory/algorithms.md#exchange) draws each.

";

/// The page `docs/reference/hints.md`. A test compares the checked-in file with it.
pub fn markdown() -> String {
    let table = Hints::default().table();
    let (ours, others): (Vec<_>, Vec<_>) = table.iter().partition(|row| row.key.starts_with(OURS));
    let mut page = HEAD.to_string();
    section(&mut page, "Hints of ROMIO and PnetCDF", &others);
    section(&mut page, "Hints of Tributary", &ours);
    page.push_str(KERNELS_HEAD);
    page.push_str(&kernels());
    page
}

/// The kernels and `two_layer` as a table, for `docs/reference/hints.md` and `docs/how-it-works/kernels.md`.
pub fn kernels() -> String {
    let mut table =
        "| name | what it does | sends | limit by default | when to use it |\n|---|---|---|---|---|\n".to_string();
    let mut row = |name: &str, about: &str, sends: &str, limit: &str, when: &str| {
        let (about, when) = (cell(about), cell(when));
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| `{name}` | {about} | {sends} | {limit} | {when} |");
    };
    for kernel in KERNELS {
        let sends = match kernel.mode {
            SendMode::Standard => "Isend",
            SendMode::Synchronous => "Issend",
        };
        let limit = match kernel.default_limit {
            None => "none".to_string(),
            Some(limit) if kernel.coupled => format!("{limit}, by construction"),
            Some(limit) => format!("{SLIDING_LIMIT}; {limit} in batches"),
        };
        row(kernel.name, kernel.about, sends, &limit, kernel.when);
    }
    row(
        two_layer::NAME,
        two_layer::ABOUT,
        "the outer kernel's",
        "the outer kernel's, inside the node too",
        two_layer::WHEN,
    );
    table
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn section(page: &mut String, title: &str, rows: &[&Row]) {
    page.push_str(&format!(
        "\n## {title}\n\n| key | default | allowed | unit | meaning | set it when |\n|---|---|---|---|---|---|\n"
    ));
    for row in rows {
        let Row { key, default, unit, allowed, meaning, when, .. } = row;
        let default = if default.is_empty() { "none".to_string() } else { format!("`{default}`") };
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| `{key}` | {default} | {} | {unit} | {} | {} |",
            cell(&allowed.replace('*', "\\*")),
            cell(meaning),
            cell(when)
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BEGIN: &str = "<!-- Generated from src/exchange; regenerate with: ./generate -->\n";
    const END: &str = "<!-- End of what is generated -->\n";

    /// Compares a file with `expected`; writes it instead if regeneration is requested.
    fn hold(name: &str, expected: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        if kept != expected && std::env::var_os("TRIB_REGENERATE").is_some() {
            return std::fs::write(&path, expected).unwrap();
        }
        assert!(kept == expected, "{name} is not what the registries say; ./generate writes it");
    }

    #[test]
    fn the_page_in_docs_is_current() {
        hold("docs/reference/hints.md", &markdown());
    }

    #[test]
    fn the_table_of_kernels_is_current() {
        let name = "docs/how-it-works/kernels.md";
        let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
        let (before, rest) = page.split_once(BEGIN).expect("the page has no place for the table of kernels");
        let (_, after) = rest.split_once(END).expect("the page has no end of the table of kernels");
        hold(name, &format!("{before}{BEGIN}\n{}\n{END}{after}", kernels()));
    }
}
