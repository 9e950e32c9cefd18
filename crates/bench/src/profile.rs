//! Where the time goes: samples of the whole machine, taken by `perf`, as a flame graph.

mod flame;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use flame::Flames;

/// How often a second each core is looked at; not a divisor of anything that happens by the clock.
const FREQUENCY: &str = "397";

/// A recording under way.
pub(crate) struct Recording {
    perf: Child,
    data: PathBuf,
}

impl Recording {
    /// Begins to sample; the samples lie in `directory` until they are drawn.
    pub(crate) fn begin(directory: &Path) -> Result<Self> {
        let data = directory.join("perf.data");
        let perf = Command::new("perf")
            .args(["record", "--all-cpus", "--call-graph", "fp", "-F", FREQUENCY, "-o"])
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start perf (it is in Debian's package linux-perf)")?;
        Ok(Self { perf, data })
    }

    /// Ends the recording and draws it, without this process itself.
    pub(crate) fn draw(mut self, title: &str, file: &Path) -> Result<()> {
        kill_process(Pid::from_child(&self.perf), Signal::INT).context("end perf")?;
        self.perf.wait().context("wait for perf")?;
        let script = Command::new("perf")
            .args(["script", "-F", "comm,pid,ip,sym", "-i"])
            .arg(&self.data)
            .output()
            .context("read the samples")?;
        ensure!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
        let mut flames = Flames::default();
        let text = String::from_utf8_lossy(&script.stdout);
        for sample in text.split("\n\n") {
            if let Some((pid, stack)) = parse(sample)
                && pid != std::process::id()
                && stack.first() != Some(&"swapper")
            {
                flames.add(&stack);
            }
        }
        std::fs::write(file, flames.to_svg(title))
            .with_context(|| format!("write {}", file.display()))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // It has ended if it was drawn.
        let _ended = self.perf.kill();
        let _buried = self.perf.wait();
    }
}

/// The process of a sample and what it was doing: its name, then what called what.
fn parse(sample: &str) -> Option<(u32, Vec<&str>)> {
    let mut lines = sample.lines().filter(|line| !line.trim().is_empty());
    let (name, pid) = lines.next()?.trim().rsplit_once(char::is_whitespace)?;
    let pid = pid.trim_end_matches(':').parse().ok()?;
    let mut stack: Vec<&str> = lines
        .filter_map(|line| Some(line.trim().split_once(' ')?.1))
        .filter(|function| *function != "[unknown]")
        .collect();
    stack.push(name.trim());
    stack.reverse();
    Some((pid, stack))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_a_process_and_a_stack_from_the_outside_in() {
        let sample = "tokio-rt worker  4711 \n\t 5f1a noetl::inner\n\t 77 [unknown]\n\t 9 main\n";
        assert_eq!(parse(sample), Some((4711, vec!["tokio-rt worker", "main", "noetl::inner"])));
        assert_eq!(parse(""), None);
    }
}
