//! Tasks of one thread, one of which runs at a time, and their clock.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use tributary::world::process::ProcessValues;
use tributary::world::{TaskId, Work, World, enter, jobs};

use super::order::{Body, State, Task, Timer, lock, messages_of, parked};
pub use super::order::{Happenings, split_mix};

/// Number of bytes of a task's stack. (Untouched pages take no memory.)
const STACK: usize = 1 << 20;
/// Maximum time that a task yields its core.
const YIELD: u64 = 2_000;
/// Time without any event, in nanoseconds, after which the ranks wait for ever: they look again and again, and nothing happens.
const QUIET: u64 = 100_000_000_000;

/// How a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// All ranks have ended; the tasks that are left.
    All(Vec<String>),
    /// Nobody can go on: what each task that has not ended waits for.
    Stuck(Vec<String>),
    /// A task has panicked.
    Panicked(String),
    /// All ranks were killed after so many turns as was asked.
    Killed,
}

/// The tasks of a run.
pub struct Tasks {
    state: RefCell<State>,
    /// The running task, and the place where it gives up control.
    running: Cell<Option<(TaskId, *const Yielder<(), ()>)>>,
    /// Requests for memory that are refused: in a thousand, of the only rank that has them, and so far.
    refusals: Cell<(u64, Option<usize>, u64)>,
    /// True once tasks are only unwound.
    is_over: Cell<bool>,
}

// SAFETY: the tasks of a run, and all of their values, stay on the thread that has made them: `run` is called there, `World`
// says so, and nothing else calls a function of this type. The compiler asks for it because ranks share the files and the network
// through `Arc`s that the engine requires to be `Send` and `Sync`.
unsafe impl Send for Tasks {}
// SAFETY: likewise.
unsafe impl Sync for Tasks {}

thread_local! {
    /// Stacks that no task uses.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Begin of every run's clock.
static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Tasks {
    /// Returns a run without tasks, whose order follows from the seed. A task loses its core in `lost_cores` of a thousand turns.
    pub fn new(seed: u64, lost_cores: u64) -> Arc<Self> {
        let state = State {
            tasks: Vec::new(),
            ready: Vec::new(),
            timers: BinaryHeap::new(),
            blocked: HashMap::new(),
            seed,
            lost_cores,
            now: 0,
            turns: 0,
            digest: seed,
            eventful: 0,
            panic: None,
            ranks: 0,
            beside: None,
            arrived: Vec::new(),
            hosts: Vec::new(),
        };
        Arc::new(Self {
            state: RefCell::new(state),
            running: Cell::new(None),
            refusals: Cell::default(),
            is_over: Cell::new(false),
        })
    }

    /// Returns a number below `limit` that follows from the seed; 0 if that is 0.
    pub fn random(&self, limit: u64) -> u64 {
        self.state.borrow_mut().random(limit)
    }

    /// Returns the time in nanoseconds: for a task that works, the end of its work.
    pub fn nanos(&self) -> u64 {
        let busy = self.running.get().and_then(|(id, _)| self.state.borrow_mut().task(id).map(|task| task.busy));
        self.state.borrow().now.max(busy.unwrap_or(0))
    }

    /// Lets the running task work until a time in nanoseconds. Its next messages, wake-ups and calls on the file happen at that time;
    /// others run meanwhile. (What it writes to shared memory is there at once.)
    pub fn work_until(&self, time: u64) {
        if let Some((id, _)) = self.running.get()
            && let Some(task) = self.state.borrow_mut().task(id)
        {
            task.busy = task.busy.max(time);
        }
    }

    /// Waits until the running task has done its work ([`Tasks::work_until`]).
    pub fn finish_work(&self) {
        let done = self.nanos();
        if done > self.state.borrow().now {
            self.event_until(done);
            self.block(0, Some(Duration::ZERO));
        }
    }

    /// Sets what happens beside the tasks.
    pub fn set_beside(&self, beside: Arc<Mutex<dyn Happenings + Send>>) {
        self.state.borrow_mut().beside = Some(beside);
    }

    /// Refuses so many of a thousand requests for memory, of one rank or of all.
    pub fn refuse_memory(&self, of_thousand: u64, rank: Option<usize>) {
        self.refusals.set((of_thousand, rank, 0));
    }

    /// Returns the number of requests that were refused.
    pub fn refused(&self) -> u64 {
        self.refusals.get().2
    }

    /// Returns the names of tasks that have not ended.
    fn left(&self) -> Vec<String> {
        self.state.borrow().tasks.iter().flatten().map(|task| task.name.to_string()).collect()
    }

    /// Returns the name of the running task; empty if none runs.
    pub fn name(&self) -> Arc<str> {
        let running =
            self.running.get().and_then(|(id, _)| self.state.borrow_mut().task(id).map(|task| task.name.clone()));
        running.unwrap_or_else(|| "".into())
    }

    /// Lets a time pass that the seed decides, of at most `most`.
    pub fn pass(&self, most: Duration) {
        let time = self.random(most.as_nanos() as u64 + 1);
        self.event();
        self.block(0, Some(Duration::from_nanos(time)));
    }

    /// Notes that something has happened: the ranks do not wait for ever.
    pub fn event(&self) {
        let mut state = self.state.borrow_mut();
        state.eventful = state.now;
    }

    /// Sets the host of each rank.
    pub fn set_hosts(&self, hosts: Vec<usize>) {
        self.state.borrow_mut().hosts = hosts;
    }

    /// Waits until [`Tasks::message_at`] or [`Tasks::wake_rank`], at most for `longest`.
    pub fn await_message(&self, rank: usize, longest: Option<Duration>) {
        self.block(messages_of(rank), longest);
    }

    /// Wakes a rank at a time in nanoseconds, at which a message has arrived for it.
    pub fn message_at(&self, time: u64, rank: usize) {
        self.state.borrow_mut().at(time, Timer::Message(rank));
    }

    /// Wakes a rank that waits for messages, or for memory of its host.
    pub fn wake_rank(&self, rank: usize) {
        self.event();
        let time = self.nanos();
        let mut state = self.state.borrow_mut();
        if time > state.now { state.at(time, Timer::Message(rank)) } else { state.arrive(rank) }
    }

    /// Notes that something happens until a time in nanoseconds: a long call on the file.
    pub fn event_until(&self, time: u64) {
        let mut state = self.state.borrow_mut();
        state.eventful = state.eventful.max(time);
    }

    /// Wakes the tasks that wait for a key when the running task has done its work.
    fn wake_when_done(&self, key: usize) {
        let time = self.nanos();
        let mut state = self.state.borrow_mut();
        let key = state.key(self.task(), key);
        if time > state.now { state.at(time, Timer::Key(key)) } else { state.wake(key) }
    }

    /// Returns the number of turns, the hash of all of them, and the time.
    pub fn counted(&self) -> (u64, u64, Duration) {
        let state = self.state.borrow();
        (state.turns, state.digest, Duration::from_nanos(state.now))
    }

    /// Starts the task of a rank, a process of its own.
    pub fn start_process(self: &Arc<Self>, name: String, rank: usize, work: impl FnOnce() + 'static) {
        self.state.borrow_mut().ranks += 1;
        self.add(name.into(), rank, Arc::default(), true, Box::new(work));
    }

    fn add(
        &self,
        name: Arc<str>,
        rank: usize,
        process: Arc<ProcessValues>,
        is_rank: bool,
        work: Box<dyn FnOnce()>,
    ) -> TaskId {
        let stack = STACKS.with_borrow_mut(Vec::pop);
        let stack = stack.unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
        let this: *const Self = self;
        let body = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the run outlives its tasks: `run` drops them all.
            let this = unsafe { &*this };
            this.enter_task(yielder);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                this.panicked(panic);
            }
        });
        let mut state = self.state.borrow_mut();
        let id = state.tasks.len() as TaskId;
        let busy = self.running.get().and_then(|(id, _)| state.task(id).map(|starter| starter.busy));
        let task = Task {
            name,
            process,
            rank,
            is_rank,
            body: Some(body),
            yielder: std::ptr::null(),
            waits_for: None,
            waits: 0,
            is_late: false,
            is_unparked: false,
            busy: busy.unwrap_or(0),
        };
        state.tasks.push(Some(task));
        state.ready.push(id);
        id
    }

    fn enter_task(&self, yielder: &Yielder<(), ()>) {
        let (id, _) = self.running.get().expect("a task runs");
        self.running.set(Some((id, yielder)));
        self.state.borrow_mut().task(id).expect("a task").yielder = yielder;
    }

    fn panicked(&self, panic: Box<dyn Any + Send>) {
        if self.is_over.get() {
            return;
        }
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string()));
        let mut state = self.state.borrow_mut();
        let name = self.running.get().and_then(|(id, _)| state.task(id)).map(|task| task.name.clone());
        let name = name.unwrap_or_else(|| "?".into());
        state.panic.get_or_insert_with(|| format!("{name}: {}", text.unwrap_or_default()));
    }

    /// Runs the tasks until all ranks have ended, or nobody can go on; or for `most` turns. `waits` is called in the process of each
    /// rank if nobody can go on, and returns what that rank waits for.
    pub fn run(self: Arc<Self>, most: Option<u64>, waits: impl Fn() -> Vec<String>) -> Ended {
        let ended = enter(self.clone(), || match self.run_tasks(most.unwrap_or(u64::MAX)) {
            Ended::Stuck(tasks) => {
                Ended::Stuck(self.ranks().flat_map(|rank| self.as_task(rank, &waits)).chain(tasks).collect())
            }
            ended => ended,
        });
        self.is_over.set(true);
        // Threads that wait for work end at their wait.
        let rest = 0..self.state.borrow().tasks.len() as TaskId;
        enter(self.clone(), || {
            for id in rest {
                let task = self.state.borrow_mut().tasks[id as usize].take();
                let Some(Task { body: Some(body), yielder, .. }) = task else { continue };
                self.running.set(Some((id, yielder)));
                if !body.started() {
                    drop(body);
                } else if matches!(ended, Ended::All(_)) {
                    self.end(body);
                } else {
                    // A process that is killed drops nothing, and the values of a run that went wrong may not be fit for it.
                    std::mem::forget(body);
                }
            }
        });
        self.running.set(None);
        ended
    }

    /// Returns the tasks of ranks that have not ended.
    fn ranks(&self) -> std::vec::IntoIter<TaskId> {
        let state = self.state.borrow();
        let ids = (0..state.tasks.len()).filter(|&id| state.tasks[id].as_ref().is_some_and(|task| task.is_rank));
        Vec::from_iter(ids.map(|id| id as TaskId)).into_iter()
    }

    /// Calls `work`, which waits for nothing, as a task would.
    fn as_task<T>(&self, id: TaskId, work: impl FnOnce() -> T) -> T {
        let yielder = self.state.borrow_mut().task(id).map_or(std::ptr::null(), |task| task.yielder);
        self.running.set(Some((id, yielder)));
        let result = work();
        self.running.set(None);
        result
    }

    /// Ends a task: its waits panic from now on.
    fn end(&self, mut body: Body) {
        while !body.done() {
            body.resume(());
        }
        STACKS.with_borrow_mut(|stacks| stacks.push(body.into_stack()));
    }

    fn run_tasks(&self, most: u64) -> Ended {
        loop {
            let mut state = self.state.borrow_mut();
            if let Some(panic) = state.panic.take() {
                return Ended::Panicked(panic);
            }
            if state.ranks == 0 {
                drop(state);
                return Ended::All(self.left());
            }
            if state.turns >= most {
                return Ended::Killed;
            }
            let Some(id) = state.choose().filter(|_| state.now.saturating_sub(state.eventful) < QUIET) else {
                return Ended::Stuck(state.who_waits());
            };
            state.turns += 1;
            let now = state.now;
            state.note(now ^ id << 48);
            let Some(task) = state.task(id) else { continue };
            let (yielder, Some(mut body)) = (task.yielder, task.body.take()) else { continue };
            drop(state);
            self.running.set(Some((id, yielder)));
            let result = body.resume(());
            self.running.set(None);
            let mut state = self.state.borrow_mut();
            match result {
                CoroutineResult::Yield(()) => state.task(id).expect("a task").body = Some(body),
                CoroutineResult::Return(()) => {
                    STACKS.with_borrow_mut(|stacks| stacks.push(body.into_stack()));
                    let task = state.tasks[id as usize].take();
                    state.ranks -= usize::from(task.is_some_and(|task| task.is_rank));
                    state.eventful = state.now;
                    state.wake(jobs::end_of(id));
                }
            }
        }
    }

    /// Ends the running task by a panic that prints nothing; not while a panic ends it already.
    fn leave(&self) {
        if !std::thread::panicking() {
            resume_unwind(Box::new("the run is over"));
        }
    }

    /// Gives up control.
    fn suspend(&self) {
        let (_, yielder) = self.running.get().expect("a task runs");
        // SAFETY: the running task's own, which lives as long as the task runs.
        unsafe { (*yielder).suspend(()) };
    }
}

impl World for Tasks {
    fn now(&self) -> Instant {
        *BEGIN + Duration::from_nanos(self.nanos())
    }

    fn yield_now(&self) {
        let time = 1 + self.random(YIELD);
        self.block(0, Some(Duration::from_nanos(time)));
    }

    fn block(&self, key: usize, longest: Option<Duration>) -> bool {
        let Some((id, _)) = self.running.get().filter(|_| !self.is_over.get()) else {
            self.leave();
            return false;
        };
        let mut state = self.state.borrow_mut();
        let (now, key) = (state.now, state.key(id, key));
        let task = state.task(id).expect("a task");
        task.waits_for = Some(key);
        let (wait, now) = (task.waits, now.max(task.busy));
        if key != 0 {
            state.blocked.entry(key).or_default().push(id);
        }
        if let Some(longest) = longest {
            state.at(now + longest.as_nanos() as u64, Timer::Wait(id, wait));
        }
        drop(state);
        self.suspend();
        if self.is_over.get() {
            self.leave();
            return false;
        }
        !self.state.borrow_mut().task(id).is_some_and(|task| task.is_late)
    }

    fn wake(&self, key: usize) {
        self.event();
        self.wake_when_done(key);
    }

    fn task(&self) -> TaskId {
        self.running.get().map_or(TaskId::MAX, |(id, _)| id)
    }

    fn park(&self, longest: Option<Duration>) {
        let id = self.task();
        let is_unparked = |state: &mut State| state.task(id).is_some_and(|task| std::mem::take(&mut task.is_unparked));
        if !is_unparked(&mut self.state.borrow_mut()) {
            self.block(parked(id), longest);
            is_unparked(&mut self.state.borrow_mut());
        }
    }

    fn unpark(&self, id: TaskId) {
        let mut state = self.state.borrow_mut();
        if let Some(task) = state.task(id) {
            task.is_unparked = true;
        }
        drop(state);
        self.wake_when_done(parked(id));
    }

    fn start(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<TaskId> {
        let (name, rank, process) = {
            let mut state = self.state.borrow_mut();
            let starter = state.task(self.task()).ok_or_else(|| io::Error::other("no task runs"))?;
            (format!("{} of {}", name, starter.name), starter.rank, starter.process.clone())
        };
        Ok(self.add(name.into(), rank, process, false, work))
    }

    fn has_ended(&self, task: TaskId) -> bool {
        self.is_over.get() || self.state.borrow_mut().task(task).is_none()
    }

    fn work(&self, work: Work) {
        let from = self.nanos();
        let (beside, task) = {
            let mut state = self.state.borrow_mut();
            let Some(beside) = state.beside.clone() else { return };
            (beside, state.task(self.task()).map(|task| (task.rank, task.is_rank)))
        };
        if let Some((rank, is_rank)) = task {
            let done = lock(&beside).work(rank, is_rank, from, work);
            self.work_until(done);
        }
    }

    /// With a simulated network there may be more ranks than the system has mappings.
    fn shares_mappings(&self) -> bool {
        self.state.borrow().beside.is_some()
    }

    fn refuses_memory(&self, _bytes: usize) -> bool {
        let (of_thousand, rank, refused) = self.refusals.get();
        let id = self.task();
        let is_of_rank =
            || self.state.borrow_mut().task(id).is_some_and(|task| rank.is_none_or(|rank| rank == task.rank));
        let is_due = of_thousand > 0 && is_of_rank() && self.random(1000) < of_thousand;
        self.refusals.set((of_thousand, rank, refused + u64::from(is_due)));
        is_due
    }

    fn process(&self) -> Arc<ProcessValues> {
        self.state.borrow_mut().task(self.task()).map(|task| task.process.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    /// A task that works for long comes after one that works for a short time, whichever the seed lets run first.
    #[test]
    fn finished_work_is_in_the_order_of_its_end() {
        for seed in 0..20 {
            let (tasks, ends) = (Tasks::new(seed, 0), Rc::new(RefCell::new(Vec::new())));
            for (rank, time) in [10_000, 5_000].into_iter().enumerate() {
                let (own, ends) = (tasks.clone(), ends.clone());
                tasks.start_process(format!("rank {rank}"), rank, move || {
                    own.work_until(time);
                    own.finish_work();
                    ends.borrow_mut().push(own.nanos());
                });
            }
            assert_eq!(tasks.run(None, Vec::new), Ended::All(Vec::new()));
            assert_eq!(*ends.borrow(), [5_000, 10_000], "seed {seed}");
        }
    }
}
