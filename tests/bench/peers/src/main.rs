// SPDX-License-Identifier: MIT
//! The span loop of loop.c in Rust, with a library that traces in the program itself:
//!
//!     peers-loop LIBRARY CPU ROUNDS FOLDER
//!
//! LIBRARY is none, flame, prof-wall, prof-cpu or measureme. It stays on CPU, and for each line "go" on stdin does
//! ROUNDS of a root span with one nested in it and answers "done NS". What is recorded is in FOLDER when it has ended.
use std::error::Error;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use measureme::{EventId, Profiler, StringId};
use tracing::info_span;
use tracing_flame::FlameLayer;
use tracing_prof::reporter::pprof::backend::file::{FileBackend, FileBackendConfig};
use tracing_prof::reporter::pprof::{PProfReporter, PProfReporterConfig};
use tracing_prof::{ProfileConfig, ProfileLayer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn stay_on(cpu: usize) -> Result<()> {
    // SAFETY: a cpu_set_t is plain bits, for which all zeroes are good.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set)
    };
    if status != 0 {
        return Err(io::Error::last_os_error().into());
    }
    Ok(())
}

/// Runs `rounds` for each "go" until the input ends.
fn obey(mut rounds: impl FnMut()) -> Result<()> {
    for line in io::stdin().lines() {
        if line? == "go" {
            let begin = Instant::now();
            rounds();
            println!("done {}", begin.elapsed().as_nanos());
        }
    }
    Ok(())
}

#[inline(never)]
fn nested() {
    let _span = info_span!("nested").entered();
    black_box(());
}

#[inline(never)]
fn root() {
    let _span = info_span!("root").entered();
    nested();
}

fn obey_tracing(rounds: u64) -> Result<()> {
    obey(|| (0..rounds).for_each(|_| root()))
}

fn flame(rounds: u64, folder: &Path) -> Result<()> {
    let (layer, _guard) = FlameLayer::with_file(folder.join("tracing.folded"))?;

    tracing_subscriber::registry().with(layer).init();
    obey_tracing(rounds)
}

fn prof(rounds: u64, folder: &Path, cpu: bool) -> Result<()> {
    // By default it drops, and does not tell, what is beyond 1000 spans at a time; 0: it keeps all.
    let config = ProfileConfig::default().track_wall(true).track_cpu(cpu).max_samples(0);
    let files = FileBackend::new(FileBackendConfig::new(folder));
    let reporter = PProfReporter::new(PProfReporterConfig::default(), files);
    let layer = ProfileLayer::new(config, reporter);
    let _handle = layer.shutdown_handle();

    tracing_subscriber::registry().with(layer).init();
    obey_tracing(rounds)?;
    // Its thread looks at what came once a second, and may end before it has.
    std::thread::sleep(Duration::from_millis(1500));
    Ok(())
}

struct Spans {
    profiler: Profiler,
    kind: StringId,
    root: EventId,
    nested: EventId,
}

impl Spans {
    #[inline(never)]
    fn nested(&self) {
        let _span = self.profiler.start_recording_interval_event(self.kind, self.nested, 1);
        black_box(());
    }

    #[inline(never)]
    fn root(&self) {
        let _span = self.profiler.start_recording_interval_event(self.kind, self.root, 1);
        self.nested();
    }
}

fn measureme(rounds: u64, folder: &Path) -> Result<()> {
    let profiler = Profiler::new(folder.join("loop"))?;
    let kind = profiler.alloc_string("GenericActivity");
    let [root, nested] = ["root", "nested"].map(|name| EventId::from_label(profiler.alloc_string(name)));
    let spans = Spans { profiler, kind, root, nested };

    obey(|| (0..rounds).for_each(|_| spans.root()))
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [library, cpu, rounds, folder] = &args[..] else {
        return Err("usage: peers-loop LIBRARY CPU ROUNDS FOLDER".into());
    };
    let (rounds, folder) = (rounds.parse()?, Path::new(folder));

    stay_on(cpu.parse()?)?;
    match library.as_str() {
        "none" => obey_tracing(rounds), // no subscriber: no spans
        "flame" => flame(rounds, folder),
        "prof-wall" => prof(rounds, folder, false),
        "prof-cpu" => prof(rounds, folder, true),
        "measureme" => measureme(rounds, folder),
        _ => Err(format!("no library {library}").into()),
    }
}
