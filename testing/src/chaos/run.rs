//! Runs a program and compares what its ranks have seen with the model.

use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use tributary::drivers::{OpenStorage, Storage};
use tributary::engine::{CallForm, CallKind, binding};
use tributary::{BufferLayout, Error, File, Hints, Mode};

use super::model::Model;
use super::program::{Access, Call, How, Program, extents};
use crate::virtual_time::file::{Files, Opener};
use crate::virtual_time::tasks::Ended;
use crate::virtual_time::{Outcome, RankInWorld, run};

/// Value of bytes of a buffer before a read.
const BEFORE: u8 = 0xfe;
const NAME: &str = "file";

/// What one rank has seen of one call.
#[derive(Debug, Clone, Default)]
struct Seen {
    error: Option<String>,
    bytes: Vec<u8>,
}

/// What a run has shown.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What was wrong, if something was.
    pub wrong: Option<String>,
    /// Hash of all events.
    pub digest: u64,
    /// Number of turns of tasks.
    pub turns: u64,
}

/// Returns the value that a call writes at an offset: never 0, and never [`BEFORE`].
fn value(call: usize, rank: usize, offset: u64) -> u8 {
    let mixed = (call as u64 * 131 + rank as u64 * 31 + offset).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    1 + (mixed % 250) as u8
}

/// Runs a program.
pub fn judge(program: &Program) -> Finding {
    judged(program, |_| ())
}

/// Runs a program, and prints what its ranks see.
pub fn judge_and_show(program: &Program) -> Finding {
    judged(program, |ranks| show(program, ranks))
}

fn judged(program: &Program, tell: impl FnOnce(&[Vec<Seen>])) -> Finding {
    let known = Arc::new(program.clone());
    let shared = known.clone();
    // By rank, also of ranks that do not come to their end.
    let seen: Arc<Vec<Mutex<Vec<Seen>>>> = Arc::new(program.hosts.iter().map(|_| Mutex::default()).collect());
    let notes = seen.clone();
    let outcome = run(program.seed, &program.place(), move |own| rank(&own, &shared, &notes[own.rank]));
    let refused = outcome.files.refused() + outcome.refused;
    let wrong = match outcome.ended {
        _ if outcome.stopped.is_some() && refused == 0 => {
            outcome.stopped.map(|why| format!("a rank has ended the job: {why}"))
        }
        Ended::All(ref tasks) if is_left(program, tasks, &outcome).is_some() => is_left(program, tasks, &outcome),
        Ended::Stuck(who) => Some(format!("nobody can go on: {}", who.join("; "))),
        Ended::Panicked(text) => Some(format!("panic: {text}")),
        ended => {
            let take =
                |seen: &Mutex<Vec<Seen>>| std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
            let ranks: Vec<Vec<Seen>> = seen.iter().map(take).collect();
            let is_killed = ended == Ended::Killed || outcome.stopped.is_some();
            tell(&ranks);
            let (file, failed) = (outcome.files.bytes(Path::new(NAME)), outcome.files.failed());
            compare(&known, is_killed, &ranks, file, [failed, refused])
                .or_else(|| (!is_killed).then(|| untold(&known, &ranks, &outcome.files)).flatten())
        }
    };
    Finding { wrong, digest: outcome.digest, turns: outcome.turns }
}

/// Prints what each rank has seen of each call.
fn show(program: &Program, ranks: &[Vec<Seen>]) {
    let calls = ["open".to_string()].into_iter().chain(program.calls.iter().map(|call| format!("{call:?}")));
    for (at, call) in calls.chain(["close".to_string()]).enumerate() {
        println!("{call}");
        for (rank, seen) in ranks.iter().enumerate() {
            let outcome = seen.get(at).map_or("not made", |seen| seen.error.as_deref().unwrap_or("ok"));
            println!("    rank {rank}: {outcome}");
        }
    }
}

/// Returns what is left of a run that should have left nothing.
fn is_left(program: &Program, tasks: &[String], outcome: &Outcome<()>) -> Option<String> {
    let others: Vec<_> = tasks.iter().filter(|name| !name.starts_with("tributary watchdog")).collect();
    if !others.is_empty() || outcome.files.open() > 0 {
        return Some(format!("left at the end: {others:?}, {} open handles", outcome.files.open()));
    }
    // Ranks that leave a call early leave messages to it.
    let is_legal = outcome.files.failed() + outcome.files.refused() + outcome.refused == 0
        && !program.calls.iter().any(|call| matches!(call, Call::Apart(..) | Call::Drop(_)));
    (is_legal && outcome.unreceived > 0).then(|| format!("{} messages were never received", outcome.unreceived))
}

/// The program of one rank. It ends with an error of the opening; other errors are noted, and it goes on.
fn rank(own: &RankInWorld, program: &Program, seen: &Mutex<Vec<Seen>>) {
    let hints = Hints::parse(&program.hints.join(";")).expect("hints of the list");
    let files = Arc::new(Opener(own.files.clone(), own.rank));
    let open = |mode| File::open_on(own.endpoint(), NAME, mode, hints.clone(), files.clone());
    let mut other = Other { files: files.clone(), is_atomic: false, mode: Mode::Update };
    let note = |outcome: Result<Vec<u8>, Error>| {
        // What the ranks cannot agree on ends the job.
        if outcome.as_ref().is_err_and(Error::is_unagreed) {
            return false;
        }
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(match outcome {
            Ok(bytes) => Seen { error: None, bytes },
            Err(error) => Seen { error: Some(error.to_string()), bytes: Vec::new() },
        });
        true
    };
    let mut file = match open(Mode::Update) {
        Ok(file) => note(Ok(Vec::new())).then_some(file),
        Err(error) => {
            note(Err(error));
            None
        }
    };
    for (number, call) in program.calls.iter().enumerate() {
        let Some(mut now) = file.take() else { return };
        own.compute();
        own.files.begin_call(own.rank, number + 1);
        let mode = match call {
            Call::Reopen => Mode::Update,
            Call::ReopenToRead => Mode::Read,
            Call::Drop(all) => {
                let (bytes, layout) = to_write(number, own.rank, &all[own.rank].pieces());
                drop(now.start_write_all(&all[own.rank].extents(), &layout, &bytes));
                Mode::Update
            }
            call => {
                file = note(made(&mut now, number, call, own, &mut other)).then_some(now);
                continue;
            }
        };
        other = Other { files: files.clone(), is_atomic: false, mode };
        let closed = now.close();
        match open(mode) {
            Ok(new) => {
                file = note(closed.map(|_| Vec::new())).then_some(new);
            }
            Err(error) => drop(note(Err(error))),
        }
    }
    own.compute();
    own.files.begin_call(own.rank, program.calls.len() + 1);
    if let Some(file) = file {
        note(file.close().map(|_| Vec::new()));
    }
}

/// Returns the buffer of a write and its layout: in every third call with gaps.
fn to_write(number: usize, rank: usize, pieces: &[(u64, u64)]) -> (Vec<u8>, BufferLayout) {
    let (layout, len) = layout(number, pieces);
    let mut bytes = vec![BEFORE; len as usize];
    let mut places = places(&layout, len);
    for &(offset, len) in pieces {
        for at in offset..offset + len {
            bytes[places.next().expect("a place for each byte") as usize] = value(number, rank, at);
        }
    }
    drop(places);
    (bytes, layout)
}

/// Returns the layout of the buffer for pieces of the file, and its length.
fn layout(number: usize, pieces: &[(u64, u64)]) -> (BufferLayout, u64) {
    let bytes: u64 = pieces.iter().map(|piece| piece.1).sum();
    if number % 3 != 1 {
        return (BufferLayout::Contiguous, bytes);
    }
    // Other pieces than those of the file.
    let parts: Vec<(u64, u64)> = (0..bytes).step_by(7).map(|at| (at / 7 * 10, 7.min(bytes - at))).collect();
    let len = parts.last().map_or(0, |(offset, len)| offset + len);
    (BufferLayout::Extents(extents(&parts)), len)
}

fn places(layout: &BufferLayout, len: u64) -> Box<dyn Iterator<Item = u64> + '_> {
    match layout {
        BufferLayout::Contiguous => Box::new(0..len),
        BufferLayout::Extents(extents) => Box::new(extents.iter().flat_map(|extent| extent.offset..extent.end())),
    }
}

/// Another library that works on the same file, as MPI does.
struct Other {
    files: Arc<Opener>,
    /// True in atomic mode.
    is_atomic: bool,
    mode: Mode,
}

impl Other {
    fn open(&self) -> Result<Box<dyn Storage>, Error> {
        self.files.open(Path::new(NAME), self.mode).map_err(Self::failed)
    }

    fn failed(cause: io::Error) -> Error {
        Error::state(format!("another library: {cause}"))
    }

    /// Writes the bytes of pieces.
    fn write(&self, pieces: &[(u64, u64)], value: impl Fn(u64) -> u8) -> Result<(), Error> {
        let file = self.open()?;
        for &(offset, len) in pieces {
            let bytes: Vec<u8> = (offset..offset + len).map(&value).collect();
            whole(bytes.len(), |at| file.write_at(&bytes[at..], offset + at as u64))?;
        }
        Ok(())
    }

    /// Reads the bytes of pieces; those behind the end of the file stay what they were.
    fn read(&self, pieces: &[(u64, u64)], buffer: &mut [u8]) -> Result<(), Error> {
        let file = self.open()?;
        let mut rest = buffer;
        for &(offset, len) in pieces {
            let (piece, behind) = rest.split_at_mut(len as usize);
            rest = behind;
            whole(piece.len(), |at| file.read_at(&mut piece[at..], offset + at as u64))?;
        }
        Ok(())
    }
}

/// Repeats a call that moves bytes from a position on, until all `len` bytes are moved or it moves none.
fn whole(len: usize, mut call: impl FnMut(usize) -> io::Result<usize>) -> Result<(), Error> {
    let mut at = 0;
    while at < len {
        match call(at) {
            Ok(0) => break,
            Ok(moved) => at += moved,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(Other::failed(cause)),
        }
    }
    Ok(())
}

/// Waits for a call of the bindings.
fn complete<T>(file: &mut File, work: impl AsyncFnOnce(&mut File) -> Result<T, Error>) -> Result<T, Error> {
    let waiting = file.endpoint().waiting().clone();
    waiting.wait(pin!(work(file)))
}

/// Makes a call other than an opening. Returns the bytes that were read.
fn made(file: &mut File, number: usize, call: &Call, own: &RankInWorld, other: &mut Other) -> Result<Vec<u8>, Error> {
    let form = match call {
        Call::Write(_, How::Splits) | Call::Read(_, How::Splits) => CallForm::Split,
        Call::Write(_, How::Waits | How::Tests) | Call::Read(_, How::Waits | How::Tests) => CallForm::NonBlocking,
        _ => CallForm::Blocking,
    };
    binding::call_as(file, call.name(), form);
    let write =
        |other: &Other, all: &[Access]| other.write(&all[own.rank].pieces(), |offset| value(number, own.rank, offset));
    match call {
        Call::Write(all, _) if other.is_atomic => {
            let written = write(other, all);
            complete(file, async |file| binding::wait_for_all(file).await).and(written).map(|()| Vec::new())
        }
        Call::Read(all, _) if other.is_atomic => {
            let pieces = all[own.rank].pieces();
            let mut bytes = vec![BEFORE; pieces.iter().map(|piece| piece.1 as usize).sum()];
            let read = other.read(&pieces, &mut bytes);
            complete(file, async |file| binding::wait_for_all(file).await).and(read).map(|()| bytes)
        }
        Call::ByOther(all) => {
            let written = |_| write(other, all);
            complete(file, async |file| binding::run_between(file, CallKind::Ordered, written).await)
                .map(|()| Vec::new())
        }
        Call::Atomic(is_atomic) => {
            complete(file, async |file| binding::run_between(file, CallKind::SetAtomicity, |_| Ok(())).await)?;
            other.is_atomic = *is_atomic;
            Ok(Vec::new())
        }
        Call::Write(all, how) => {
            let extents = all[own.rank].extents();
            let (bytes, layout) = to_write(number, own.rank, &all[own.rank].pieces());
            match how {
                How::Blocks => file.write_all(&extents, &layout, &bytes),
                How::Waits | How::Splits => {
                    let operation = file.start_write_all(&extents, &layout, &bytes);
                    own.compute();
                    operation.wait()
                }
                How::Tests => tested(file.start_write_all(&extents, &layout, &bytes), own),
            }
            .map(|_| Vec::new())
        }
        Call::Read(all, how) => {
            let extents = all[own.rank].extents();
            let (layout, len) = layout(number, &all[own.rank].pieces());
            let mut bytes = vec![BEFORE; len as usize];
            match how {
                How::Blocks => file.read_all(&extents, &layout, &mut bytes),
                How::Waits | How::Splits => {
                    let operation = file.start_read_all(&extents, &layout, &mut bytes);
                    own.compute();
                    operation.wait()
                }
                How::Tests => tested(file.start_read_all(&extents, &layout, &mut bytes), own),
            }?;
            let found: Vec<u8> =
                places(&layout, len).map(|at| std::mem::replace(&mut bytes[at as usize], BEFORE)).collect();
            assert!(bytes.iter().all(|byte| *byte == BEFORE), "a read has changed gaps of its buffer");
            Ok(found)
        }
        Call::WriteAt(rank, (offset, len)) if *rank == own.rank => {
            let bytes: Vec<u8> = (*offset..offset + len).map(|at| value(number, *rank, at)).collect();
            file.write_at(*offset, &bytes).map(|_| Vec::new())
        }
        Call::ReadAt(rank, (offset, len)) if *rank == own.rank => {
            let mut bytes = vec![BEFORE; *len as usize];
            file.read_at(*offset, &mut bytes).map(|_| bytes)
        }
        Call::Flush(rank) if *rank == own.rank => binding::write_left_bytes(file).map(|()| Vec::new()),
        Call::WriteAt(..) | Call::ReadAt(..) | Call::Flush(_) => Ok(Vec::new()),
        // As a program does, and as bindings do.
        Call::Sync if number.is_multiple_of(2) => file.sync().map(|()| Vec::new()),
        Call::Sync => complete(file, async |file| binding::sync_with(file, |_| Ok(())).await).map(|()| Vec::new()),
        Call::SetLen(len) => file.set_len(*len).map(|()| Vec::new()),
        Call::Agree => file.agree(Ok(Vec::new())),
        Call::Apart(rank, calls) => made(file, number, &calls[usize::from(*rank == own.rank)], own, other),
        Call::Reopen | Call::ReopenToRead | Call::Drop(_) => unreachable!("made by the caller"),
    }
}

/// Tests an operation until it has ended.
fn tested<T>(mut operation: tributary::Operation<'_, T>, own: &RankInWorld) -> Result<T, Error> {
    for round in 0.. {
        match operation.test() {
            Some(outcome) => return outcome,
            None => own.pause(round),
        }
    }
    unreachable!("it has ended")
}

/// Returns a rank whose late bytes could not be written, of which no call has told that ended after it. (Calls after which a file
/// cannot be used print such errors, and a close lists some of them.)
fn untold(program: &Program, ranks: &[Vec<Seen>], files: &Files) -> Option<String> {
    let told: Vec<&String> = ranks.iter().flatten().filter_map(|seen| seen.error.as_ref()).collect();
    let is_printed = files.refused() > 0 || program.calls.iter().any(|call| matches!(call, Call::Drop(_)));
    if is_printed || told.iter().any(|text| text.ends_with(" more errors")) {
        return None;
    }
    let is_told = |&(rank, call): &(usize, usize)| {
        let words = format!("rank {rank}: deferred write");
        ranks[rank].iter().skip(call).any(|seen| seen.error.as_ref().is_some_and(|text| text.contains(&words)))
    };
    let (rank, call) = files.failed_late().into_iter().find(|late| !is_told(late))?;
    Some(format!("late bytes of rank {rank} could not be written in its call {call}, and no later call has told of it"))
}

/// Returns what is wrong with what the ranks have seen and with the file at the end.
fn compare(
    program: &Program,
    is_killed: bool,
    ranks: &[Vec<Seen>],
    file: Option<Vec<u8>>,
    [failed, refused]: [u64; 2],
) -> Option<String> {
    let is_behind = program.hints.iter().any(|hint| hint.starts_with("trib_write_behind"));
    let told = ranks.iter().flatten().filter(|seen| seen.error.is_some()).count();
    let is_illegal = |call: &Call| matches!(call, Call::Apart(..) | Call::ReopenToRead | Call::Drop(_));
    if told > 0 && failed + refused == 0 && !program.calls.iter().any(is_illegal) {
        let first = ranks.iter().flatten().find_map(|seen| seen.error.clone());
        return Some(format!("an error although no call on the file has failed: {}", first.unwrap_or_default()));
    }
    if told == 0 && failed > 0 && !is_killed {
        return Some(format!("{failed} calls on the file have failed, and no call has told of it"));
    }
    let mut model = Model::default();
    let (mut is_read_only, mut is_atomic) = (false, false);
    let ended_early = |number: usize| ranks.iter().all(|seen| seen.len() <= number);
    // The opening is call 0 of what was seen.
    let alike = |number: usize, what: &str| {
        let errors: Vec<_> = ranks.iter().map(|seen| seen.get(number).map(|seen| &seen.error)).collect();
        let differs = errors.iter().any(|error| *error != errors[0]);
        differs.then(|| format!("{what}: ranks have different errors: {errors:?}"))
    };
    if is_killed && ranks.iter().any(Vec::is_empty) {
        return None;
    }
    if let Some(wrong) = alike(0, "open") {
        return Some(wrong);
    }
    let has_error = |at: usize| ranks.iter().any(|seen| seen.get(at).is_some_and(|seen| seen.error.is_some()));
    // A buffered write may fail after a call has begun, which then reads what is there; a later call tells of it, unless
    // the job has ended before.
    let is_told_later = |number: usize| {
        let later = (number + 1..program.calls.len()).find(|&later| program.calls[later].waits_for_all());
        let last = later.unwrap_or(program.calls.len()) + 1;
        let is_untold = is_killed && failed > 0 && ranks.iter().any(|seen| seen.len() <= last);
        is_behind && (is_untold || (number + 1..=last).any(has_error))
    };
    for (number, call) in program.calls.iter().enumerate() {
        let at = number + 1;
        if is_killed && ranks.iter().any(|seen| seen.len() <= at) {
            // Some ranks were in this call, others may have made later ones: no bytes of them are sure.
            let rest = &program.calls[number..];
            model.fail(rest.iter().flat_map(Call::touched), is_behind);
            rest.iter().filter_map(Call::new_size).for_each(|len| model.set_len(len, false));
            return file.and_then(|file| model.wrong_file(&file)).map(|wrong| format!("killed in {call:?}: {wrong}"));
        }
        if ended_early(at) {
            return None;
        }
        let what = format!("call {number}, {call:?}");
        let error = ranks[0].get(at).and_then(|seen| seen.error.as_ref());
        is_atomic &= !matches!(call, Call::Reopen | Call::ReopenToRead | Call::Drop(_));
        match call {
            // Another library's error is that of ranks with bytes.
            Call::ByOther(_) if is_read_only => {}
            Call::Write(..) if is_read_only && is_atomic => {}
            Call::WriteAt(..) | Call::SetLen(_) | Call::Write(..) if is_read_only => {
                if ranks.iter().any(|seen| seen[at].error.is_none()) && !matches!(call, Call::WriteAt(..)) {
                    return Some(format!("{what}: no error, although the file is open for reading only"));
                }
            }
            Call::Apart(_, calls) => {
                // In atomic mode these calls are the same for the engine.
                let is_same = is_atomic
                    && calls.iter().all(|call| matches!(call, Call::Write(..) | Call::Read(..) | Call::Agree));
                if let Some(wrong) = alike(at, &what).filter(|_| !is_same) {
                    return Some(wrong);
                }
                if error.is_none() && !is_same {
                    return Some(format!("{what}: no error, although the ranks are in different calls"));
                }
                let pieces: Vec<_> = calls.iter().flat_map(Call::written).collect();
                if !is_read_only {
                    model.fail(pieces, is_behind);
                    calls.iter().filter_map(Call::new_size).for_each(|len| model.set_len(len, false));
                }
            }
            Call::WriteAt(rank, piece) => match ranks[*rank].get(at).and_then(|seen| seen.error.as_ref()) {
                None => model.write_alone(*rank, *piece, |at| value(number, *rank, at)),
                Some(_) => model.fail([*piece], is_behind),
            },
            Call::ReadAt(rank, piece) => {
                let seen = &ranks[*rank][at];
                let mut seen_by_others = model.clone();
                program.unordered(number).for_each(|later| seen_by_others.forget(later));
                if seen.error.is_none()
                    && !is_told_later(number)
                    && let Some(wrong) = seen_by_others.wrong(Some(*rank), piece.0, &seen.bytes, BEFORE)
                {
                    return Some(format!("{what}: {wrong}"));
                }
            }
            Call::Flush(rank) => {
                if ranks[*rank][at].error.is_some() {
                    model.fail([], is_behind);
                }
            }
            _ => {
                let is_of_other = is_atomic && matches!(call, Call::Write(..) | Call::Read(..));
                if let Some(wrong) = alike(at, &what).filter(|_| !is_of_other) {
                    return Some(wrong);
                }
                let error = ranks.iter().find_map(|seen| seen[at].error.as_ref());
                match call {
                    Call::Write(all, _) | Call::ByOther(all) if error.is_none() => {
                        if matches!(call, Call::ByOther(_)) {
                            model.agree();
                        }
                        let pieces: Vec<Vec<_>> = all.iter().map(Access::pieces).collect();
                        for (rank, own) in pieces.iter().enumerate() {
                            own.iter().for_each(|piece| model.write(*piece, |at| value(number, rank, at)));
                        }
                        let is_ordered = program.hints.iter().any(|hint| hint == "trib_overlap=rank_order");
                        if !is_ordered || is_atomic || matches!(call, Call::ByOther(_)) {
                            for (rank, own) in pieces.iter().enumerate() {
                                let later = || pieces[rank + 1..].iter().flatten();
                                own.iter().for_each(|piece| model.forget_where_both(*piece, later()));
                            }
                        }
                        model.forget_where_alone(pieces.iter().flatten());
                    }
                    Call::Write(..) | Call::ByOther(_) => model.fail(call.written(), is_behind),
                    Call::Read(all, _) if error.is_none() && !is_told_later(number) => {
                        for (rank, own) in all.iter().enumerate() {
                            let mut bytes = &ranks[rank][at].bytes[..];
                            for (offset, len) in own.pieces() {
                                let (piece, rest) = bytes.split_at(len as usize);
                                bytes = rest;
                                if let Some(wrong) = model.wrong(Some(rank), offset, piece, BEFORE) {
                                    return Some(format!("{what}, rank {rank}: {wrong}"));
                                }
                            }
                        }
                    }
                    Call::Atomic(now) if error.is_none() => {
                        model.agree();
                        is_atomic = *now;
                    }
                    Call::Sync | Call::Reopen | Call::ReopenToRead if error.is_none() => {
                        model.sync();
                        is_read_only = match call {
                            Call::Reopen => false,
                            Call::ReopenToRead => true,
                            _ => is_read_only,
                        };
                    }
                    Call::Drop(_) => {
                        let pieces = if is_read_only { Vec::new() } else { call.written() };
                        is_read_only = false;
                        model.fail(pieces, is_behind);
                    }
                    Call::Agree if error.is_none() => model.agree(),
                    Call::SetLen(len) => {
                        if error.is_some() {
                            // It may be the error of buffered bytes.
                            model.fail([], is_behind);
                        }
                        model.set_len(*len, error.is_none());
                    }
                    Call::Read(..) if error.is_none() => {}
                    // An error of buffered bytes.
                    _ => model.fail([], is_behind),
                }
            }
        }
    }
    let last = program.calls.len() + 1;
    if is_killed {
        model.fail([], is_behind);
        return model.wrong_file(&file?).map(|wrong| format!("killed in the close: {wrong}"));
    }
    if let Some(wrong) = alike(last, "close") {
        return Some(wrong);
    }
    if ranks[0].get(last).is_some_and(|seen| seen.error.is_none()) {
        model.agree();
    } else {
        model.fail([], is_behind);
    }
    model.wrong_file(&file?).map(|wrong| format!("at the end: {wrong}"))
}
