//! Who was slow: what the diaries of the ranks say when they are laid side by side.

use tributary::engine::{Diary, Seconds};

use super::html::{counted, grouped, percent, time};

/// Waiting below this is not worth a word, in seconds.
const NOTABLE: f64 = 1e-3;
/// A rank with so many times the mean has clearly more than others.
const MORE: f64 = 1.25;

/// What a rank kept the others waiting, in the calls whose times are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Late {
    /// Calls to which it came last.
    pub last_to: u64,
    /// What the others waited for it, on average over them: seconds.
    pub kept_waiting: f64,
    /// What it waited itself for the last one to come: seconds.
    pub waited: f64,
}

/// Who came last, and who waited: for each rank. O(kept calls of all ranks).
pub fn late(diaries: &[Diary]) -> Vec<Late> {
    let mut all = vec![Late::default(); diaries.len()];
    let calls = diaries.iter().map(|diary| diary.visits.len()).min().unwrap_or(0);
    for call in 0..calls {
        let start = |rank: usize| diaries[rank].visits[call].start;
        let Some(last) = (0..diaries.len()).max_by(|one, other| start(*one).total_cmp(&start(*other))) else { break };
        let others = diaries.len().saturating_sub(1).max(1) as f64;
        for (rank, diary) in diaries.iter().enumerate() {
            // A rank that had left by then has not waited.
            let waits = if diary.visits[call].end > start(last) { start(last) - start(rank) } else { 0.0 };
            all[rank].waited += waits;
            all[last].kept_waiting += waits / others;
        }
        all[last].last_to += 1;
    }
    all
}

/// The phases by name, and what they are.
pub fn phases(seconds: &Seconds) -> [(&'static str, f64, &'static str); 6] {
    let Seconds { flatten, metadata, data, placement, io, agreement, .. } = *seconds;
    [
        ("flatten", flatten, "cutting lists by aggregator"),
        ("metadata", metadata, "telling aggregators the lists"),
        ("data", data, "exchanging data"),
        ("placement", placement, "copying into windows"),
        ("io", io, "in the file system"),
        ("agreement", agreement, "agreeing, and waiting for ranks that come late"),
    ]
}

/// The phases in which a rank works; in the others it waits.
const WORK: [&str; 5] = ["flatten", "metadata", "data", "placement", "io"];
/// Those of an aggregator as such.
const OWNING: [&str; 3] = ["data", "placement", "io"];

/// Time in some phases.
fn spent(seconds: &Seconds, of: &[&str]) -> f64 {
    phases(seconds).iter().filter(|(name, ..)| of.contains(name)).map(|(_, spent, _)| spent).sum()
}

/// Time in phases in which a rank works.
pub fn worked(seconds: &Seconds) -> f64 {
    spent(seconds, &WORK)
}

/// The longest of some phases.
fn longest(seconds: &Seconds, of: &[&str]) -> String {
    let some = phases(seconds).into_iter().filter(|(name, ..)| of.contains(name));
    let most = some.max_by(|one, other| one.1.total_cmp(&other.1));
    most.map_or(String::new(), |(name, spent, what)| format!("{} {what} ({name})", time(spent)))
}

/// The slowest rank, and the reason.
pub fn slowest_rank(diaries: &[Diary], late: &[Late]) -> Vec<String> {
    let mut says = Vec::new();
    if diaries.len() < 2 {
        return says;
    }
    let kept = |rank: &usize| late[*rank].kept_waiting;
    let latest = (0..late.len()).max_by(|one, other| kept(one).total_cmp(&kept(other))).unwrap_or(0);
    let in_calls = diaries.iter().map(|diary| diary.seconds.total).sum::<f64>() / diaries.len() as f64;
    let waited = late.iter().map(|late| late.waited).sum::<f64>() / late.len() as f64;
    let share = percent(waited, in_calls);
    let kept_calls = diaries.iter().map(|diary| diary.visits.len() as u64).min().unwrap_or(0);
    if waited < NOTABLE && waited < 0.1 * in_calls {
        says.push(format!(
            "No rank kept the others waiting for long: {} on average, {share} of the time in calls.",
            time(waited)
        ));
    } else {
        says.push(format!(
            "Slowest to come: rank {latest}, last to {} of {}; the others waited {} for it. A rank waited {} on average \
             for the last one, {share} of the time in calls: ranks do different amounts of work between the calls. That is load \
             imbalance, not I/O.",
            grouped(late[latest].last_to),
            counted(kept_calls, "call"),
            time(late[latest].kept_waiting),
            time(waited),
        ));
    }
    let working = |rank: &usize| worked(&diaries[*rank].seconds);
    let busiest = (0..diaries.len()).max_by(|one, other| working(one).total_cmp(&working(other))).unwrap_or(0);
    if working(&busiest) > 0.0 {
        let mean = diaries.iter().map(|diary| worked(&diary.seconds)).sum::<f64>() / diaries.len() as f64;
        says.push(format!(
            "Slowest inside calls: rank {busiest}, {} in its own phases ({:.1} times the mean of the ranks), the longest {}.",
            time(working(&busiest)),
            working(&busiest) / mean.max(f64::MIN_POSITIVE),
            longest(&diaries[busiest].seconds, &WORK),
        ));
    }
    says
}

/// The slowest aggregator, and the reason.
pub fn slowest_aggregator(diaries: &[Diary]) -> Option<String> {
    let owning = |diary: &Diary| spent(&diary.seconds, &OWNING);
    let owners: Vec<(usize, &Diary)> = diaries.iter().enumerate().filter(|(_, diary)| diary.windows > 0).collect();
    let (rank, slowest) = owners.iter().copied().max_by(|one, other| owning(one.1).total_cmp(&owning(other.1)))?;
    let mean = |of: fn(&Diary) -> f64| owners.iter().map(|(_, diary)| of(diary)).sum::<f64>() / owners.len() as f64;
    let times = owning(slowest) / mean(owning).max(f64::MIN_POSITIVE);
    let bytes = slowest.covered as f64 / mean(|diary| diary.covered as f64).max(1.0);
    let windows = slowest.windows as f64 / mean(|diary| diary.windows as f64).max(1.0);
    let reason = match (owners.len(), times > MORE, bytes > MORE || windows > MORE) {
        (1, ..) => "it is the only one: more aggregators (cb_nodes) could share its work".to_string(),
        (_, false, _) => "the others took about as long".to_string(),
        (_, true, true) => format!("it has {bytes:.1} times the bytes and {windows:.1} times the windows of the mean"),
        (_, true, false) => {
            "it has no more windows or bytes than the others: its processor, its node or its file servers are slower"
                .into()
        }
    };
    Some(format!(
        "Slowest aggregator: rank {rank}, {} for {}, the longest part {}; {reason}.",
        time(owning(slowest)),
        counted(slowest.windows, "window"),
        longest(&slowest.seconds, &OWNING),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tributary::engine::diary::Visited;

    fn diary(visits: &[(f64, f64)]) -> Diary {
        let visits: Vec<_> = visits.iter().map(|&(start, end)| Visited { read: false, start, end }).collect();
        let total = visits.iter().map(|visit| visit.end - visit.start).sum();
        Diary { seconds: Seconds { total, ..Seconds::default() }, visits, ..Diary::default() }
    }

    #[test]
    fn the_last_to_come_is_named() {
        let diaries =
            [diary(&[(0.0, 1.0), (2.0, 9.0)]), diary(&[(0.0, 1.0), (8.0, 9.0)]), diary(&[(0.0, 1.0), (3.0, 9.0)])];
        let late = late(&diaries);
        assert_eq!(late[1], Late { last_to: 1, kept_waiting: 5.5, waited: 0.0 });
        assert_eq!((late[0].waited, late[2].waited), (6.0, 5.0));
        let says = slowest_rank(&diaries, &late);
        assert!(says[0].contains("rank 1, last to 1 of 2 calls; the others waited 5.500 s"), "{says:?}");
        // Who has left before the last one comes has not waited for it.
        assert_eq!(super::late(&[diary(&[(0.0, 1.0)]), diary(&[(4.0, 5.0)])])[1].kept_waiting, 0.0);
    }

    #[test]
    fn an_aggregator_with_more_bytes_is_slow_for_that() {
        let owner = |io, covered, windows| Diary {
            seconds: Seconds { io, ..Seconds::default() },
            covered,
            windows,
            ..Diary::default()
        };
        let says = |all: &[Diary]| slowest_aggregator(all).unwrap();
        assert!(says(&[owner(1.0, 10, 1), owner(3.0, 30, 3)]).contains("rank 1, 3.000 s for 3 windows"));
        assert!(says(&[owner(1.0, 10, 1), owner(3.0, 30, 3)]).contains("1.5 times the bytes"));
        assert!(says(&[owner(1.0, 10, 1), owner(3.0, 10, 1)]).contains("are slower"));
        assert!(says(&[owner(1.0, 10, 1), owner(1.0, 10, 1)]).contains("about as long"));
        assert_eq!(slowest_aggregator(&[Diary::default()]), None);
    }
}
