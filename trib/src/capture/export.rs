//! `trib capture export`: writes one call as lists of text.

use std::fs::File;
use std::io::{BufWriter, Write};

use tributary::BufferLayout;
use tributary::engine::Capture;

use crate::Failure;
use crate::cli::capture::ExportOptions;

/// Writes the lists of all ranks in one call of the capture.
pub fn run(options: &ExportOptions) -> Result<(), Failure> {
    let capture = Capture::open(&options.capture)?;
    let calls = capture.calls();
    if options.call as u64 >= calls {
        let shown = options.capture.display();
        let allowed = if calls == 0 { "none: it has no call".to_string() } else { format!("0 to {}", calls - 1) };
        return Err(Failure::new(format!("--call {}: {shown}; allowed: {allowed}", options.call)));
    }
    match &options.output {
        None => match write(&capture, options, &mut BufWriter::new(std::io::stdout().lock())) {
            // It is no failure if the reader of a pipe stops reading.
            Err(Problem::Output(cause)) if cause.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(problem) => Err(problem.into_failure("output")),
            Ok(()) => Ok(()),
        },
        Some(path) => {
            let shown = path.display().to_string();
            let file = File::create(path).map_err(|cause| Failure::new(format!("{shown}: {cause}")))?;
            write(&capture, options, &mut BufWriter::new(file)).map_err(|problem| problem.into_failure(&shown))
        }
    }
}

enum Problem {
    Capture(tributary::Error),
    Output(std::io::Error),
}

impl Problem {
    fn into_failure(self, output: &str) -> Failure {
        match self {
            Self::Capture(error) => error.into(),
            Self::Output(cause) => Failure::new(format!("{output}: {cause}")),
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(cause: std::io::Error) -> Self {
        Self::Output(cause)
    }
}

fn write(capture: &Capture, options: &ExportOptions, out: &mut dyn Write) -> Result<(), Problem> {
    let ranks = capture.header().ranks;
    writeln!(out, "# call {} of {}, by {}", options.call, capture.header().file, capture.header().program)?;
    writeln!(out, "ranks {ranks}")?;
    for rank in 0..ranks {
        writeln!(out, "rank {rank}")?;
        let calls = capture.rank(rank).map_err(Problem::Capture)?;
        let Some(call) = calls.get(options.call) else { continue };
        let extents = match (&call.memory, options.memory) {
            (_, false) => &call.file,
            (BufferLayout::Extents(extents), true) => extents,
            (BufferLayout::Contiguous, true) => {
                if call.file.bytes() > 0 {
                    writeln!(out, "0 {}", call.file.bytes())?;
                }
                continue;
            }
        };
        for extent in extents.iter() {
            writeln!(out, "{} {}", extent.offset, extent.len)?;
        }
    }
    out.flush()?;
    Ok(())
}
