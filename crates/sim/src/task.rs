//! What a task can do, written as its program would be: it asks for a core, a lock, the disk, and
//! goes on when it has got it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::resources::cores::TaskId;
use crate::resources::locks::LockId;
use crate::resources::queues::{Item, QueueId};
use crate::world::World;

/// A thread or a process.
#[derive(Debug, Clone)]
pub struct Task {
    /// The machine that it runs on.
    pub world: Rc<RefCell<World>>,
    /// Its number.
    pub id: TaskId,
}

impl Task {
    /// Works for so long, on a core.
    pub async fn work(&self, lasts_ns: u64) {
        if lasts_ns > 0 {
            self.world.borrow_mut().demand(self.id, lasts_ns);
            parked().await;
        }
    }

    /// Works for so long while it holds a lock.
    pub async fn hold(&self, lock: LockId, lasts_ns: u64) {
        let transfer_ns = self.lock(lock).await;
        self.work(transfer_ns + lasts_ns).await;
        self.unlock(lock);
    }

    /// Waits for a lock, and has it from then on. Says how long it takes to have what it protects.
    pub async fn lock(&self, lock: LockId) -> u64 {
        let since_ns = self.world.borrow().now_ns;
        let mut comes = true;
        loop {
            let has_it = self.world.borrow_mut().ask(lock, self.id, (since_ns, comes));
            if has_it {
                break;
            }
            parked().await;
            comes = false;
        }
        self.world.borrow_mut().transfer_ns(lock, self.id)
    }

    /// Has it no more.
    pub fn unlock(&self, lock: LockId) {
        self.world.borrow_mut().release(lock);
    }

    /// Lets whoever waits for its core come before it.
    pub async fn give_way(&self) {
        if self.others_wait() {
            self.world.borrow_mut().give_way(self.id);
            parked().await;
        }
    }

    /// Whether somebody waits for its core.
    fn others_wait(&self) -> bool {
        self.world.borrow().cores.others_wait(self.id)
    }

    /// Reads so many bytes from the disk, without a core.
    pub async fn read(&self, bytes: u64) {
        self.world.borrow_mut().read(self.id, bytes);
        parked().await;
    }

    /// Waits until another task wakes it.
    pub async fn sleep(&self) {
        self.world.borrow_mut().wait(self.id, &[]);
        parked().await;
    }

    /// Takes what stands first in a queue, as soon as something does.
    pub async fn take(&self, queue: QueueId) -> Item {
        loop {
            if let Some(item) = self.pop(queue) {
                return item;
            }
            self.wait(&[queue]).await;
        }
    }

    /// Waits until something comes into one of these queues, where nothing stands.
    pub async fn wait(&self, queues: &[QueueId]) {
        self.world.borrow_mut().wait(self.id, queues);
        parked().await;
    }

    /// What stands first in a queue, if something does.
    pub fn pop(&self, queue: QueueId) -> Option<Item> {
        self.world.borrow_mut().pop(queue)
    }

    /// Whether nothing stands in a queue.
    pub fn is_empty(&self, queue: QueueId) -> bool {
        self.world.borrow().queue_at(queue).is_empty()
    }

    /// Puts something into a queue; says whether there was room.
    pub fn push(&self, queue: QueueId, item: Item) -> bool {
        self.world.borrow_mut().push(queue, item)
    }
}

/// Until the machine goes on with this task. It does so only when the task has got what it waits
/// for, so that the second time it is asked is the end.
async fn parked() {
    let mut was_asked = false;
    poll_fn(move |_| match std::mem::replace(&mut was_asked, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}
