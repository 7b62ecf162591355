//! The commands in a page of the documentation, and what the page says about running them.
//!
//! A command block is a code block, indented or fenced, that begins with one of [`COMMANDS`], or a fence marked `sh`. A comment before it, which
//! readers do not see, may say
//!
//! ```text
//! <!-- commands not run: REASON -->                              nothing of the block can run in a test
//! <!-- commands shortened: --splits 10 => --splits 2 -->         run with smaller numbers; several replacements are separated by ;
//! <!-- commands before: cp houses.csv new.csv -->                what has to be there first, in one line or several
//! <!-- commands exit 1: REASON -->                               the block ends with another exit code than 0
//! ```

/// Words that begin commands. A block that begins with another word is an output, a file or a formula.
const COMMANDS: &[&str] = &[
    "fedweave",
    "cargo",
    "pip",
    "python",
    "python3",
    "bash",
    "cd",
    "cmp",
    "cp",
    "curl",
    "diff",
    "docker",
    "grep",
    "head",
    "ls",
    "mkdir",
    "node",
    "npm",
    "sed",
    "awk",
    "sha256sum",
    "source",
    "sudo",
    "systemctl",
    "tail",
    "tar",
    "zcat",
];
/// Folders whose programs begin commands.
const FOLDERS: &[&str] = &["scripts/", "benches/", "target/", "tests/", ".ci/", "./"];

/// Commands that belong together, with what was said about them.
#[derive(Debug, Default, PartialEq)]
pub struct Block {
    /// The line of the page where they begin, from 1.
    pub line: usize,
    pub script: String,
    pub marks: Marks,
}

#[derive(Debug, Default, PartialEq)]
pub struct Marks {
    pub not_run: Option<String>,
    pub shortened: Vec<(String, String)>,
    pub before: Vec<String>,
    pub exit: i32,
    /// Where the first of them is, if there are any.
    line: Option<usize>,
}

impl Block {
    /// What is given to the shell, or why it cannot be made.
    pub fn to_run(&self) -> Result<String, String> {
        let mut script = self.script.clone();
        for (long, short) in &self.marks.shortened {
            if !script.contains(long) {
                return Err(format!("the commands hold no {long:?}, which was to be shortened"));
            }
            script = script.replace(long, short);
        }
        Ok(self.marks.before.iter().chain([&script]).map(|part| format!("{part}\n")).collect())
    }
}

/// The command blocks of a page, in order; an error names its line.
pub fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut marks, mut at) = (Vec::new(), Marks::default(), 0);
    while at < lines.len() {
        let line = lines[at].trim();
        let end = if line.starts_with("<!-- commands") {
            let end = (at..lines.len())
                .find(|&k| lines[k].contains("-->"))
                .ok_or(format!("line {}: the comment has no end", at + 1))?;
            marks.add(&lines[at..=end].join("\n"), at + 1).map_err(|problem| format!("line {}: {problem}", at + 1))?;
            end + 1
        } else if let Some((code, body, end)) = code_block(&lines, at) {
            if is_commands(&code) {
                found.push(Block { line: body + 1, script: code.script, marks: std::mem::take(&mut marks) });
            }
            end
        } else {
            at + 1
        };
        at = end;
    }
    match marks.line {
        Some(line) => Err(format!("line {line}: a comment about commands, and no commands after it")),
        None => Ok(found),
    }
}

impl Marks {
    fn add(&mut self, comment: &str, line: usize) -> Result<(), String> {
        let said = comment.trim().trim_start_matches("<!-- commands").trim_end_matches("-->").trim();
        let (what, rest) = said.split_once(':').ok_or("expected a colon after what is said about the commands")?;
        let rest = rest.trim();
        if rest.is_empty() {
            return Err(format!("say why, or what, after `{what}:`"));
        }
        self.line.get_or_insert(line);
        match what.trim().split_once(' ').unwrap_or((what.trim(), "")) {
            ("not", "run") => self.not_run = Some(rest.to_owned()),
            ("before", "") => self.before.push(rest.to_owned()),
            ("exit", code) => self.exit = code.parse().map_err(|_| format!("{code:?} is no exit code"))?,
            ("shortened", "") => {
                for pair in rest.split(';') {
                    let (long, short) = pair.split_once("=>").ok_or(format!("expected `long => short` in {pair:?}"))?;
                    self.shortened.push((long.trim().to_owned(), short.trim().to_owned()));
                }
            }
            _ => return Err(format!("`{what}` is none of: not run, shortened, before, exit")),
        }
        Ok(())
    }
}

struct Code {
    /// What stands after the fence; nothing for an indented block.
    language: String,
    script: String,
}

/// The code block that begins at a line, the line where its content begins, and the line after it.
fn code_block(lines: &[&str], at: usize) -> Option<(Code, usize, usize)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let content = |line: &str, by: usize| line.get(by.min(indent(line))..).unwrap_or("").trim_end().to_owned();
    if let Some(language) = lines[at].trim().strip_prefix("```") {
        let end = (at + 1..lines.len()).find(|&k| lines[k].trim() == "```").unwrap_or(lines.len());
        let script = lines[at + 1..end].iter().map(|line| content(line, indent(lines[at])) + "\n").collect();
        return Some((Code { language: language.trim().to_owned(), script }, at + 1, end + 1));
    }
    let follows_text = at > 0 && !lines[at - 1].trim().is_empty();
    if indent(lines[at]) < 4 || lines[at].trim().is_empty() || follows_text {
        return None;
    }
    let end = (at..lines.len()).find(|&k| lines[k].trim().is_empty()).unwrap_or(lines.len());
    let script = lines[at..end].iter().map(|line| content(line, indent(lines[at])) + "\n").collect();
    Some((Code { language: String::new(), script }, at, end))
}

fn is_commands(code: &Code) -> bool {
    let first = code.script.split_whitespace().next().unwrap_or("");
    match code.language.as_str() {
        "sh" | "bash" => true,
        "" => COMMANDS.contains(&first) || FOLDERS.iter().any(|folder| first.starts_with(folder)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_outputs_files_and_other_languages() {
        let page = "Text\n\n    fedweave fit a.csv \\\n        --knn 5\n\n    node,x\n    a,1\n\n1. Item\n\n       fedweave predict run b.csv\n\n\
                    ```python\nfedweave.fit()\n```\n\n```sh\nls\n\nls run\n```\n    fedweave is not a command here\n";
        let found = blocks(page).unwrap();
        let scripts: Vec<(usize, &str)> = found.iter().map(|block| (block.line, block.script.as_str())).collect();
        assert_eq!(scripts[0], (3, "fedweave fit a.csv \\\n    --knn 5\n"));
        assert_eq!(scripts[1], (11, "fedweave predict run b.csv\n"));
        assert_eq!(scripts[2], (18, "ls\n\nls run\n"));
        assert_eq!(scripts.len(), 3, "{scripts:?}");
    }

    #[test]
    fn comments_before_a_block_are_about_it_alone() {
        let page = "<!-- commands before:\ncp a b\n-->\n<!-- commands shortened: --splits 10 => --splits 2; b => c -->\n<!-- commands exit 1: it drifted -->\n\n    \
                    fedweave x b --splits 10\n\n<!-- commands not run: needs two machines -->\n\n    fedweave y\n\n    fedweave z\n";
        let found = blocks(page).unwrap();
        assert_eq!(found[0].to_run().unwrap(), "cp a b\nfedweave x c --splits 2\n\n");
        assert_eq!((found[0].marks.exit, found[1].marks.exit), (1, 0));
        assert_eq!(found[1].marks.not_run.as_deref(), Some("needs two machines"));
        assert_eq!(found[2].marks, Marks::default());
    }

    #[test]
    fn a_wrong_comment_is_an_error_with_its_line() {
        for (comment, problem) in [
            ("<!-- commands not run: -->", "say why"),
            ("<!-- commands not run -->", "colon"),
            ("<!-- commands never: no -->", "none of"),
            ("<!-- commands shortened: 10 -->", "long => short"),
            ("<!-- commands exit one: x -->", "no exit code"),
            ("<!-- commands not run: why", "no end"),
        ] {
            let told = blocks(&format!("\n{comment}\n\n    fedweave fit\n")).unwrap_err();
            assert!(told.contains("line 2") && told.contains(problem), "{comment}: {told}");
        }
        assert!(blocks("<!-- commands not run: why -->\n\nText\n").unwrap_err().contains("no commands after it"));
        let stale = &blocks("<!-- commands shortened: 10 => 2 -->\n\n    fedweave fit --splits 3\n").unwrap()[0];
        assert!(stale.to_run().unwrap_err().contains("hold no \"10\""));
    }
}
