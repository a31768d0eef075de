//! Threads of this process: helper threads beside a rank, and ranks that are threads.

use std::io;
use std::thread::{Builder, Scope};

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, unbounded};

use super::waits::Sleeper;
use super::{TaskId, entered};

/// The result of a thread of a scope, and the thread.
pub use std::thread::{Result as Ended, ScopedJoinHandle as Scoped, scope};

/// A thread that was started.
#[derive(Debug)]
pub enum Job {
    /// A thread of the system.
    Thread(std::thread::JoinHandle<()>),
    /// A task of a world.
    Task(TaskId),
}

impl Job {
    /// Returns true if the work has ended.
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Thread(thread) => thread.is_finished(),
            Self::Task(task) => entered().is_none_or(|world| world.has_ended(*task)),
        }
    }

    /// Returns the thread, to wake it.
    pub fn sleeper(&self) -> Sleeper {
        match self {
            Self::Thread(thread) => Sleeper::Thread(thread.thread().clone()),
            Self::Task(task) => Sleeper::Task(*task),
        }
    }

    /// Waits until the work has ended. Its panic is not returned.
    pub fn join(self) {
        match self {
            Self::Thread(thread) => drop(thread.join()),
            Self::Task(task) => {
                while let Some(world) = entered().filter(|world| !world.has_ended(task)) {
                    world.block(end_of(task), None);
                }
            }
        }
    }
}

/// Returns the key of [`World::wake`](super::World::wake) for the end of a task. It is odd, so it is no address.
pub fn end_of(task: TaskId) -> usize {
    (task as usize) << 1 | 1
}

/// Starts a thread of this name, which works until `work` returns.
///
/// # Errors
/// The system cannot start a thread.
pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Job> {
    match entered() {
        None => Builder::new().name(name.to_string()).spawn(work).map(Job::Thread),
        Some(world) => world.start(name, Box::new(work)).map(Job::Task),
    }
}

/// Starts a thread of this name, which ends before `scope` does.
///
/// # Errors
/// The system cannot start a thread.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<Scoped<'scope, T>> {
    Builder::new().name(name).spawn_scoped(scope, work)
}

/// Returns the two ends of a queue of jobs, for threads that take them.
pub fn queue<T>() -> (JobSender<T>, JobReceiver<T>) {
    let (jobs, inbox) = unbounded();
    (JobSender { jobs: Some(jobs) }, JobReceiver { inbox })
}

/// The end of a queue that gives jobs. Dropping it ends the queue.
#[derive(Debug)]
pub struct JobSender<T> {
    jobs: Option<Sender<T>>,
}

impl<T> JobSender<T> {
    /// Gives a job to one of the threads. Drops the job if there is no thread.
    pub fn send(&self, job: T) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
        self.wake();
    }

    /// Lets the threads end when they have done the jobs.
    pub fn end(&mut self) {
        self.jobs = None;
        self.wake();
    }

    fn wake(&self) {
        if let Some(world) = entered() {
            world.wake(queues());
        }
    }
}

impl<T> Drop for JobSender<T> {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of a queue that takes jobs.
#[derive(Debug)]
pub struct JobReceiver<T> {
    inbox: Receiver<T>,
}

impl<T> Clone for JobReceiver<T> {
    fn clone(&self) -> Self {
        Self { inbox: self.inbox.clone() }
    }
}

impl<T> JobReceiver<T> {
    /// Sleeps until there is a job, and returns it; `None` at the end of the queue.
    ///
    /// `Receiver::recv` would first spin and yield, and ranks that spin in MPI then let a thread wait for its core for up to
    /// 75 ms.
    pub fn receive(&self) -> Option<T> {
        let Some(world) = entered() else {
            let mut select = Select::new();
            select.recv(&self.inbox);
            return select.select().recv(&self.inbox).ok();
        };
        loop {
            match self.inbox.try_recv() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => world.block(queues(), None),
            };
        }
    }
}

/// Returns the key on which the tasks of a world wait for a job in any queue. A task that is woken looks at its own queue.
fn queues() -> usize {
    queues as fn() -> usize as usize
}

/// Returns true while a panic unwinds this thread.
pub fn is_panicking() -> bool {
    std::thread::panicking()
}

/// Returns the number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Makes the calling thread a helper thread of a library: it blocks the program's signals, and does not stay on the
/// single core of its rank.
pub fn leave_to_program() {
    if entered().is_some() {
        return;
    }
    leave_single_core();
    // If the mask cannot be set, the thread may get signals, as any thread may.
    let _ = nix::sys::signal::SigSet::all().thread_block();
}

/// Gives the calling thread the lowest priority at which it still goes on if the program uses all cores (nice 19: 1.5 % of
/// a core; `SCHED_IDLE` would have 0.3 %), and lets it interrupt nobody when it wakes (`SCHED_BATCH`). Any user
/// may do this, but not undo it.
#[cfg(target_os = "linux")]
pub fn lower_priority() {
    if entered().is_some() {
        return;
    }
    let batch = libc::sched_param { sched_priority: 0 };
    // SAFETY: both calls concern the calling thread (0), and the first one reads the value. If the system refuses, the
    // thread keeps its priority.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &batch);
        libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST);
    }
}

#[cfg(not(target_os = "linux"))]
pub fn lower_priority() {}

/// Lowest priority of a thread (nice).
#[cfg(target_os = "linux")]
const LOWEST: libc::c_int = 19;

/// Lets a helper thread leave the single core that its rank is bound to, where it would compete with a rank that spins
/// in MPI. The helper may then run on all cores that the system allows the process. A binding to several cores stays.
#[cfg(target_os = "linux")]
pub fn leave_single_core() {
    if entered().is_some() {
        return;
    }
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    let this = nix::unistd::Pid::from_raw(0);
    let is_in = |set: &CpuSet| (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or_default()).count();
    if sched_getaffinity(this).is_ok_and(|bound| is_in(&bound) == 1) {
        let mut all = CpuSet::new();
        (0..CpuSet::count()).for_each(|core| all.set(core).unwrap_or_default());
        // The system ignores cores that are not allowed. If it refuses, the thread stays on its core.
        let _ = sched_setaffinity(this, &all);
    }
}

#[cfg(not(target_os = "linux"))]
pub fn leave_single_core() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    #[test]
    fn a_helper_leaves_the_single_core_of_its_rank() {
        let this = Pid::from_raw(0);
        let own = sched_getaffinity(this).unwrap();
        let cores: Vec<usize> = (0..CpuSet::count()).filter(|&core| own.is_set(core).unwrap()).collect();
        let mut single = CpuSet::new();
        single.set(cores[0]).unwrap();
        sched_setaffinity(this, &single).unwrap();
        let helper = std::thread::spawn(move || {
            assert_eq!(sched_getaffinity(this), Ok(single), "inherited");
            leave_single_core();
            sched_getaffinity(this).unwrap()
        });
        let helper = helper.join().unwrap();
        assert!(cores.iter().all(|&core| helper.is_set(core).unwrap()), "all of {cores:?}");
    }

    #[test]
    fn only_the_thread_has_a_low_priority() {
        // SAFETY: both calls concern the calling thread and touch no memory.
        let now = || unsafe { (libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS, 0)) };
        let before = now();
        let helper = std::thread::spawn(move || {
            lower_priority();
            now()
        });
        assert_eq!(helper.join().unwrap(), (libc::SCHED_BATCH, LOWEST));
        assert_eq!(now(), before, "the rank keeps its own");
    }

    #[test]
    fn a_wider_binding_stays() {
        let own = sched_getaffinity(Pid::from_raw(0)).unwrap();
        leave_single_core();
        let after = sched_getaffinity(Pid::from_raw(0)).unwrap();
        if (0..CpuSet::count()).filter(|&core| own.is_set(core).unwrap()).count() > 1 {
            assert_eq!(own, after);
        }
    }
}
