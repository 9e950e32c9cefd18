//! CPU profiles: samples of the whole machine taken by `perf`, as a flame graph, and the product's
//! samples by layer.

mod flame;
mod layers;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use flame::StackCounts;
use layers::{LayerSamples, OF_KERNEL};

/// The sampling frequency per second and core; not a divisor of any periodic event.
const FREQUENCY: &str = "397";

/// The thread names of servers and workers.
const PRODUCT: [&str; 2] = ["noetl", "tokio-rt-worker"];

/// A running recording.
pub(crate) struct Recording {
    perf: Child,
    data: PathBuf,
}

impl Recording {
    /// Starts sampling; the samples stay in `directory` until they are drawn.
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

    /// Ends the recording and draws it, without this process itself. Returns the layers in which
    /// the server and its workers spent their time.
    pub(crate) fn draw(mut self, title: &str, file: &Path) -> Result<String> {
        kill_process(Pid::from_child(&self.perf), Signal::INT).context("end perf")?;
        self.perf.wait().context("wait for perf")?;
        let script = Command::new("perf")
            .args(["script", "-F", "comm,pid,ip,sym", "-i"])
            .arg(&self.data)
            .output()
            .context("read the samples")?;
        ensure!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
        let (mut stacks, mut layers) = (StackCounts::default(), LayerSamples::default());
        let text = String::from_utf8_lossy(&script.stdout);
        for sample in text.split("\n\n") {
            if let Some((pid, stack)) = parse(sample)
                && pid != std::process::id()
                && stack[0] != "swapper"
            {
                if PRODUCT.contains(&&*stack[0]) {
                    layers.add(stack.last().expect("a stack begins with a name"));
                }
                stacks.add(&stack);
            }
        }
        std::fs::write(file, stacks.to_svg(title)?)
            .with_context(|| format!("write {}", file.display()))?;
        Ok(layers.to_string())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // A drawn recording has already ended.
        let _ended = self.perf.kill();
        let _buried = self.perf.wait();
    }
}

/// Returns the process id of a sample, and its stack: the process name, then the callers from the
/// outermost in.
fn parse(sample: &str) -> Option<(u32, Vec<Cow<'_, str>>)> {
    let mut lines = sample.lines().filter(|line| !line.trim().is_empty());
    let (name, pid) = lines.next()?.trim().rsplit_once(char::is_whitespace)?;
    let pid = pid.trim_end_matches(':').parse().ok()?;
    let mut stack: Vec<Cow<'_, str>> = lines.filter_map(function).collect();
    stack.push(name.trim().into());
    stack.reverse();
    Some((pid, stack))
}

/// Returns the function name of a line of a sample.
fn function(line: &str) -> Option<Cow<'_, str>> {
    let (address, name) = line.trim().split_once(' ')?;
    if name == "[unknown]" {
        return None;
    }
    // The upper half of the address space belongs to the kernel.
    let is_kernel = address.len() == 16 && address.starts_with('f');
    Some(if is_kernel { format!("{name}{OF_KERNEL}").into() } else { name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_a_process_and_a_stack_from_the_outside_in() {
        let sample = "tokio-rt worker  4711 \n\tffffffff8155aa01 schedule\n\t 5f1a noetl::inner\n\t \
                      77 [unknown]\n\t 9 main\n";
        let stack = ["tokio-rt worker", "main", "noetl::inner", "schedule_[k]"];
        assert_eq!(parse(sample), Some((4711, stack.map(Cow::from).to_vec())));
        assert_eq!(parse(""), None);
    }
}
