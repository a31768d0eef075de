//! `trib`: the command line of Tributary.

fn main() -> std::process::ExitCode {
    trib::main()
}
