// SPDX-License-Identifier: MIT
//! measureme's own library on both sides of an event file, as a witness for spantrace's reader and writer.
//!
//!     rust-measureme write STEM    writes STEM.mm_profdata with all that the library can say
//!     rust-measureme dump STEM     each event: KIND|LABEL|ARGUMENTS|THREAD|TIMES, in ns since the start of the file
//!     rust-measureme totals STEM   each label: LABEL|COUNT|TIME|SELF TIME in ns, sorted; then the sum of threads' times
use analyzeme::{EventPayload, ProfilingData, Timestamp};
use measureme::{EventId, EventIdBuilder, Profiler, StringComponent, StringId};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, SystemTime};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

fn wait() {
    std::thread::sleep(Duration::from_micros(200));
}

fn write(stem: &Path) -> Outcome {
    let profiler = Profiler::new(stem)?;
    let ids = EventIdBuilder::new(&profiler);
    let generic = profiler.alloc_string("GenericActivity");
    let query = profiler.alloc_string("Query");
    let own = profiler.alloc_string("my own kind");
    let outer = ids.from_label(profiler.alloc_string("outer λ"));
    let prefix = profiler.alloc_string("pre");
    let joined = profiler.alloc_string(&[
        StringComponent::Ref(prefix),
        StringComponent::Value("fix "),
        StringComponent::Ref(prefix),
    ]);
    let argument = ids.from_label_and_arg(joined, profiler.alloc_string("one"));
    let arguments = ids.from_label_and_args(
        joined,
        &[prefix, joined, profiler.alloc_string("a=b, \"c\"")],
    );
    let hit = profiler.alloc_string("QueryCacheHit");
    let size = profiler.alloc_string("ArtifactSize");
    let value = ids.from_label(profiler.alloc_string("value"));
    {
        let _outer = profiler.start_recording_interval_event(generic, outer, 0);
        wait();
        for i in 0..100u32 {
            let _inner = profiler.start_recording_interval_event(query, argument, 0);
            profiler.record_instant_event(hit, arguments, 0);
            let id = EventId::from_virtual(StringId::new_virtual(i));
            let _innermost = profiler.start_recording_interval_event(own, id, 0);
        }
        wait();
    }
    std::thread::scope(|scope| {
        for thread in 1..4u32 {
            let profiler = &profiler;
            scope.spawn(move || {
                for _ in 0..50 {
                    let _outer = profiler.start_recording_interval_event(own, arguments, thread);
                    let detached =
                        profiler.start_recording_interval_event_detached(generic, value, thread);
                    profiler.finish_recording_interval_event(detached);
                }
            });
        }
    });
    profiler.record_integer_event(size, value, 2, 0);
    profiler.record_integer_event(size, value, 7, 0xffff_ffff_ffff);
    // Of two for one virtual id the later counts; the last ten are never mapped.
    profiler.bulk_map_virtual_to_single_concrete_string(
        (0..90u32).map(StringId::new_virtual),
        joined,
    );
    profiler.map_virtual_to_concrete_string(StringId::new_virtual(17u64), outer.to_string_id());
    Ok(())
}

fn since(start: SystemTime, time: SystemTime) -> u128 {
    time.duration_since(start).unwrap_or_default().as_nanos()
}

fn dump(stem: &Path) -> Outcome {
    let data = ProfilingData::new(stem)?;
    let start = data.metadata().start_time;

    for event in data.iter_full() {
        let times = match event.payload {
            EventPayload::Timestamp(Timestamp::Interval { start: a, end: b }) => {
                format!("{}-{}", since(start, a), since(start, b))
            }
            EventPayload::Timestamp(Timestamp::Instant(t)) => format!("{}", since(start, t)),
            EventPayload::Integer(value) => format!("value {}", value),
        };
        println!(
            "{}|{}|{}|{}|{}",
            event.event_kind,
            event.label,
            event.additional_data.join(","),
            event.thread_id,
            times
        );
    }
    Ok(())
}

fn totals(stem: &Path) -> Outcome {
    let results = ProfilingData::new(stem)?.perform_analysis();
    let mut lines: Vec<String> = results
        .query_data
        .iter()
        .filter(|data| data.invocation_count > 0)
        .map(|data| {
            format!(
                "{}|{}|{}|{}",
                data.label,
                data.invocation_count,
                data.time.as_nanos(),
                data.self_time.as_nanos()
            )
        })
        .collect();

    lines.sort();
    for line in lines {
        println!("{}", line);
    }
    println!("{}", results.total_time.as_nanos());
    Ok(())
}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().collect();

    match args.get(1..).unwrap_or_default() {
        [command, stem] if command == "write" => write(Path::new(stem)),
        [command, stem] if command == "dump" => dump(Path::new(stem)),
        [command, stem] if command == "totals" => totals(Path::new(stem)),
        _ => Err("usage: rust-measureme write|dump|totals STEM".into()),
    }
}
