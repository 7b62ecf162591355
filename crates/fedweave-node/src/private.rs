//! What is private stays so from its first byte: files that only their owner can read, no core dumps, enough open files.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// From now on this process makes files and folders for their owner alone, and leaves no core dump.
pub fn shut_out_others() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit, umask};
        umask(rustix::fs::Mode::from_raw_mode(0o077));
        // Where this is refused there are no core dumps to fear either.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
}

/// A new, empty file for its owner alone; an old one is replaced.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => options.open(path),
    }
}

/// Writes a file for its owner alone.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// Makes a folder, for its owner alone, also if it was there before.
pub fn folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Lets this process open as many files as it may; an error in words if that is fewer than it will need.
pub fn open_files(needed: u64) -> Result<(), String> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let most = limit.maximum.unwrap_or(u64::MAX);
        if limit.current.is_some_and(|now| now < needed) && most > limit.current.unwrap_or(0) {
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(needed.min(most)), maximum: limit.maximum });
        }
        let may = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        if may < needed {
            return Err(format!(
                "this process may open {may} files and needs {needed}; raise the limit: ulimit -n {needed}"
            ));
        }
    }
    Ok(())
}
