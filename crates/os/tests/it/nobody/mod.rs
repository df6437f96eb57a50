//! Doing something without the rights of root.

use rustix::process::geteuid;
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// The user and the group that own nothing, by custom.
const NOBODY: u32 = 65_534;

/// Acts in a thread that is nobody; in one of the same user where the tests are not run by root.
pub(crate) fn act<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let is_root = geteuid().is_root();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if is_root {
                let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(group, group, group).unwrap();
                set_thread_res_uid(user, user, user).unwrap();
            }
            act()
        });
        thread.join().unwrap()
    })
}
