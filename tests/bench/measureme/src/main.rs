// SPDX-License-Identifier: MIT
//! The work of measureme's tools, done with its library analyzeme as they do it:
//!
//!     measureme-tools summarize FILE          the table of `summarize summarize`, to stdout
//!     measureme-tools diff BASE CHANGE        the table of `summarize diff`, to stdout
//!     measureme-tools crox FILE OUT           every interval as a Chrome trace event
//!     measureme-tools stack_collapse FILE OUT folded stacks
//!
//! Their argument parsers and their tables' frames are left out. The tools themselves, built from source, took
//! 5 to 10 % less CPU time than this.
use analyzeme::{collapse_stacks, AnalysisResults, ProfilingData, QueryData};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn analyze(file: &str) -> Result<AnalysisResults> {
    Ok(ProfilingData::new(Path::new(file))?.perform_analysis())
}

fn summarize(file: &str) -> Result<()> {
    let mut results = analyze(file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let total = results.total_time.as_nanos() as f64;

    results.query_data.sort_by_key(|q| std::cmp::Reverse(q.self_time));
    for q in &results.query_data {
        let share = q.self_time.as_nanos() as f64 / total * 100.0;
        writeln!(out, "{} {:?} {:.3} {:?} {}", q.label, q.self_time, share, q.time, q.invocation_count)?;
    }
    writeln!(out, "Total cpu time: {:?}", results.total_time)?;
    Ok(())
}

fn change(base: Duration, change: Duration) -> i128 {
    change.as_nanos() as i128 - base.as_nanos() as i128
}

fn diff(base: &str, changed: &str) -> Result<()> {
    let (base, changed) = (analyze(base)?, analyze(changed)?);
    let mut out = BufWriter::new(io::stdout().lock());
    let mut sides: BTreeMap<&str, [Option<&QueryData>; 2]> = BTreeMap::new();
    let none = QueryData::new(String::new());

    for (side, results) in [&base, &changed].into_iter().enumerate() {
        for q in &results.query_data {
            sides.entry(&q.label).or_default()[side] = Some(q);
        }
    }
    let mut rows: Vec<_> = sides
        .iter()
        .map(|(label, [b, c])| {
            let (b, c) = (b.unwrap_or(&none), c.unwrap_or(&none));
            (label, b, change(b.self_time, c.self_time), change(b.time, c.time), c.invocation_count)
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.2.abs()));
    for (label, base, own, time, count) in rows {
        let relative = own as f64 / base.self_time.as_nanos() as f64 * 100.0;
        writeln!(out, "{label} {own:+} {relative:+.2}% {time:+} {count}")?;
    }
    Ok(())
}

#[derive(Serialize)]
struct ChromeEvent<'a> {
    name: String,
    cat: String,
    ph: &'a str,
    ts: u64,
    dur: u64,
    pid: u32,
    tid: u32,
    args: Option<HashMap<String, String>>,
}

fn crox(file: &str, out: &str) -> Result<()> {
    let data = ProfilingData::new(Path::new(file))?;
    let mut out = BufWriter::new(File::create(out)?);

    write!(out, "[")?;
    for (i, event) in data.iter().filter(|e| e.payload.is_interval()).enumerate() {
        let full = data.to_full_event(&event);
        let args = full.additional_data.iter().enumerate();
        let args: HashMap<_, _> = args.map(|(i, a)| (format!("arg{i}"), a.to_string())).collect();
        let event = ChromeEvent {
            name: full.label.to_string(),
            cat: full.event_kind.to_string(),
            ph: "X",
            ts: event.start().unwrap().duration_since(UNIX_EPOCH)?.as_micros() as u64,
            dur: event.duration().unwrap().as_micros() as u64,
            pid: data.metadata().process_id,
            tid: event.thread_id,
            args: (!args.is_empty()).then_some(args),
        };
        if i > 0 {
            write!(out, ",")?;
        }
        serde_json::to_writer(&mut out, &event)?;
    }
    write!(out, "]")?;
    out.flush()?;
    Ok(())
}

fn stack_collapse(file: &str, out: &str) -> Result<()> {
    let data = ProfilingData::new(Path::new(file))?;
    let mut out = BufWriter::new(File::create(out)?);

    for (stack, ns) in collapse_stacks(&data) {
        writeln!(out, "{stack} {ns}")?;
    }
    out.flush()?;
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();

    match args[..] {
        ["summarize", file] => summarize(file),
        ["diff", base, changed] => diff(base, changed),
        ["crox", file, out] => crox(file, out),
        ["stack_collapse", file, out] => stack_collapse(file, out),
        _ => Err("usage: measureme-tools summarize|diff|crox|stack_collapse FILE…".into()),
    }
}
