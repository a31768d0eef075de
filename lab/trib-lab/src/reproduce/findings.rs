//! Measures claims and figures, on all processors.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use trib::Failure;
use trib::parallel::{parallel_map, processors};
use tributary_lab::papers::{Claim, Context, Drawing, Figure, Paper, Values, Verdict};

use crate::cli::reproduce::ReproduceOptions;

/// Paper and the findings about its claims and figures.
pub struct Found<'a> {
    pub paper: &'a Paper,
    pub findings: Vec<Finding<'a>>,
    pub figures: Vec<Drawn<'a>>,
}

/// Claim, its measured values and verdict.
pub struct Finding<'a> {
    pub claim: &'a Claim,
    pub values: Values,
    pub verdict: Verdict,
    /// Seconds of the measurement. If several claims share a measurement, the first has its time.
    pub seconds: f64,
}

/// Figure and its measured drawing.
pub struct Drawn<'a> {
    pub figure: &'a Figure,
    pub drawing: Drawing,
}

enum Task<'a> {
    Claim(&'a Paper, &'a Claim),
    Figure(&'a Paper, &'a Figure),
}

enum Done<'a> {
    Claim(&'a Paper, Finding<'a>),
    Figure(&'a Paper, Drawn<'a>),
}

/// Measures all claims of `papers`, and their figures if the options ask for them.
pub fn measure<'a>(papers: &'a [Paper], options: &ReproduceOptions) -> Result<Vec<Found<'a>>, Failure> {
    let figures = options.html.is_some() || options.figures.is_some();
    let claims = papers.iter().flat_map(|paper| paper.claims.iter().map(move |claim| Task::Claim(paper, claim)));
    let drawn = papers.iter().flat_map(|paper| paper.figures.iter().map(move |figure| Task::Figure(paper, figure)));
    let tasks: Vec<Task<'_>> = claims.chain(drawn.filter(|_| figures)).collect();
    let bar = bar(tasks.iter().map(Task::milliseconds).sum());
    let finished = AtomicUsize::new(0);
    let context = Context::default();
    let jobs = options.jobs.map_or_else(processors, |jobs| jobs as usize);
    let done = parallel_map(&tasks, jobs, |task| {
        bar.set_message(task.name());
        let done = task.run(&context);
        bar.set_prefix(format!("{}/{}", finished.fetch_add(1, Ordering::Relaxed) + 1, tasks.len()));
        bar.inc(task.milliseconds());
        done
    });
    bar.finish_and_clear();
    let mut found: Vec<Found<'a>> =
        papers.iter().map(|paper| Found { paper, findings: Vec::new(), figures: Vec::new() }).collect();
    for done in done {
        let (paper, done) = match done? {
            Done::Claim(paper, finding) => (paper, Ok(finding)),
            Done::Figure(paper, drawn) => (paper, Err(drawn)),
        };
        let Some(found) = found.iter_mut().find(|found| std::ptr::eq(found.paper, paper)) else { continue };
        match done {
            Ok(finding) => found.findings.push(finding),
            Err(drawn) => found.figures.push(drawn),
        }
    }
    Ok(found)
}

impl<'a> Task<'a> {
    fn name(&self) -> String {
        match self {
            Self::Claim(paper, claim) => format!("{} {}", paper.id, claim.id),
            Self::Figure(paper, figure) => format!("{} {}", paper.id, figure.id),
        }
    }

    /// Returns the recorded processor time of the task in milliseconds, by which the progress bar advances.
    fn milliseconds(&self) -> u64 {
        let seconds = match self {
            Self::Claim(_, claim) => claim.seconds,
            Self::Figure(_, figure) => figure.seconds,
        };
        (1000.0 * seconds) as u64
    }

    fn run(&self, context: &Context) -> Result<Done<'a>, Failure> {
        match *self {
            Self::Claim(paper, claim) => {
                let begin = Instant::now();
                let (values, verdict) = claim.check(context)?;
                let seconds = begin.elapsed().as_secs_f64();
                Ok(Done::Claim(paper, Finding { claim, values, verdict, seconds }))
            }
            Self::Figure(paper, figure) => Ok(Done::Figure(paper, Drawn { figure, drawing: figure.drawing(context)? })),
        }
    }
}

fn bar(milliseconds: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar =
        ProgressBar::new(milliseconds).with_style(trib::rest::style("{wide_bar} {prefix}, {elapsed}, {left} {msg}"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
