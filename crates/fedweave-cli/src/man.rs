//! The manual page, from the same definitions as the help texts.

use clap::{Arg, Command};

/// The page of a command and of all its subcommands, in roff.
pub fn page(command: &Command) -> String {
    let name = command.get_name();
    let mut text = format!(
        ".TH {} 1 \"\" \"{name} {}\"\n.SH NAME\n{name} \\- {}\n.SH SYNOPSIS\n.B {name}\n.I COMMAND\n[OPTIONS]\n.SH DESCRIPTION\n{}\n",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        escaped(&about(command)),
        escaped(&command.get_long_about().map(ToString::to_string).unwrap_or_else(|| about(command))),
    );
    for sub in command.get_subcommands() {
        section(&mut text, name, sub);
    }
    text
}

fn section(text: &mut String, parent: &str, command: &Command) {
    let name = format!("{parent} {}", command.get_name());
    text.push_str(&format!(".SH {}\n{}\n", escaped(&name.to_uppercase()), escaped(&about(command))));
    for arg in command.get_arguments() {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", escaped(&flag(arg)), escaped(&help)));
    }
    if let Some(examples) = command.get_after_help() {
        text.push_str(&format!(".PP\n.nf\n{}\n.fi\n", escaped(&examples.to_string())));
    }
    for sub in command.get_subcommands() {
        section(text, &name, sub);
    }
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// `-o, --out DIR`, or the name of what stands alone.
fn flag(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let names: Vec<String> = short.into_iter().chain(arg.get_long().map(|long| format!("--{long}"))).collect();
    let takes = arg.get_action().takes_values();
    let values = arg.get_value_names().filter(|_| takes).unwrap_or_default();
    let words = std::iter::once(names.join(", ")).filter(|names| !names.is_empty());
    words.chain(values.iter().map(ToString::to_string)).collect::<Vec<_>>().join(" ")
}

/// Text that roff leaves as it is.
fn escaped(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
