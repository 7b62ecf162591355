//! The program: its command line is the library's.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(fedweave_cli::main(std::env::args_os()))
}
