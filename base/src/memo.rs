//! A cache of answers that take long to get, for example from a file system.

use std::sync::{Mutex, PoisonError};

/// A cache of the answers to the last questions. Threads share it as a static value.
#[derive(Debug)]
pub struct Memo<Q, A> {
    limit: usize,
    /// Questions with their answers, the oldest first.
    known: Mutex<Vec<(Q, A)>>,
}

impl<Q: PartialEq, A: Clone> Memo<Q, A> {
    /// Creates an empty cache of at most `limit` answers.
    pub const fn new(limit: usize) -> Self {
        Self { limit, known: Mutex::new(Vec::new()) }
    }

    /// Returns the kept answer to a question; if there is none, calls `ask` and keeps its answer. O(`limit`). Holds no lock
    /// during `ask`, which may wait for a file system that does not answer: other threads still get the kept answers
    /// meanwhile. Two threads may ask the same question at the same time; all get the first answer that is kept.
    pub fn get(&self, question: &Q, ask: impl FnOnce() -> A) -> A
    where
        Q: Clone,
    {
        if let Some(answer) = self.known(question) {
            return answer;
        }
        let answer = ask();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, first)) = known.iter().find(|(asked, _)| asked == question) {
            return first.clone();
        }
        if known.len() >= self.limit {
            known.remove(0);
        }
        known.push((question.clone(), answer.clone()));
        answer
    }

    fn known(&self, question: &Q) -> Option<A> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(asked, _)| asked == question).map(|(_, answer)| answer.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// A thread asks and waits for the answer. Meanwhile another thread gets a known answer, and a new one.
    #[test]
    fn a_thread_that_waits_for_an_answer_delays_no_other() {
        static MEMO: Memo<u32, u32> = Memo::new(4);
        assert_eq!(MEMO.get(&1, || 10), 10);
        let (answer, wait) = channel();
        let (begun, is_asking) = channel();
        let asking = std::thread::spawn(move || {
            MEMO.get(&2, || {
                begun.send(()).unwrap();
                wait.recv().unwrap()
            })
        });
        is_asking.recv().unwrap();
        let (done, others) = channel();
        std::thread::spawn(move || done.send([MEMO.get(&1, || 11), MEMO.get(&3, || 30), MEMO.get(&2, || 20)]).unwrap());
        let minute = std::time::Duration::from_secs(60);
        assert_eq!(others.recv_timeout(minute), Ok([10, 30, 20]));
        answer.send(21).unwrap();
        assert_eq!(asking.join().unwrap(), 20);
    }

    #[test]
    fn the_oldest_answers_go() {
        let memo = Memo::new(3);
        for question in 0..10 {
            assert_eq!(memo.get(&question, || question + 100), question + 100);
        }
        assert_eq!([7, 8, 9, 6].map(|question| memo.get(&question, || 0)), [107, 108, 109, 0]);
        assert_eq!(memo.known.lock().unwrap().len(), 3);
    }
}
