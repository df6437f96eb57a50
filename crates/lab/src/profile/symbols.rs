//! What functions are for, by the categories of Pariag07 table 1.
//!
//! The paper sorted functions by the file of the kernel that they stand in. Names do nearly the
//! same, because the kernel's functions begin with what they belong to, and need no source.

use serde::{Deserialize, Serialize};

/// The rows of the table, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// TCP and IP, sockets and the queues between them.
    Networking,
    /// Pages, slabs, address spaces.
    Memory,
    /// Names, inodes, the page cache, `sendfile`.
    FileSystem,
    /// Entry and exit, interrupts, locks, clocks: what the paper calls `kernel+arch`.
    Architecture,
    /// select, poll, epoll and rings: what the paper calls `poll overhead`.
    EventNotification,
    /// From one place in memory to another.
    DataCopying,
    /// Who runs next.
    Scheduling,
    /// The rest of the kernel.
    OtherKernel,
    /// The network's device: the paper's `e1000`.
    Driver,
    /// Threads of the server's: switching, waking, excluding each other.
    Threading,
    /// The server's own managing of events: `event overhead`.
    EventHandling,
    /// The rest of the server, with the libraries that it uses.
    Application,
    /// The C library.
    CLibrary,
    /// Other programs: the lab's tools, or somebody else. What the kernel did for them is above.
    Other,
}

/// The sections of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Area {
    /// `vmlinux`.
    Kernel,
    /// `e1000`.
    Driver,
    /// `user-space`.
    Application,
    /// `libc`.
    CLibrary,
    /// `other`.
    Other,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Networking,
        Self::Memory,
        Self::FileSystem,
        Self::Architecture,
        Self::EventNotification,
        Self::DataCopying,
        Self::Scheduling,
        Self::OtherKernel,
        Self::Driver,
        Self::Threading,
        Self::EventHandling,
        Self::Application,
        Self::CLibrary,
        Self::Other,
    ];

    /// The section of the table that it is in.
    #[must_use]
    pub fn area(self) -> Area {
        match self {
            Self::Networking
            | Self::Memory
            | Self::FileSystem
            | Self::Architecture
            | Self::EventNotification
            | Self::DataCopying
            | Self::Scheduling
            | Self::OtherKernel => Area::Kernel,
            Self::Driver => Area::Driver,
            Self::Threading | Self::EventHandling | Self::Application => Area::Application,
            Self::CLibrary => Area::CLibrary,
            Self::Other => Area::Other,
        }
    }

    /// As a table says it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Networking => "networking",
            Self::Memory => "memory management",
            Self::FileSystem => "file system",
            Self::Architecture => "kernel and architecture",
            Self::EventNotification => "event notification",
            Self::DataCopying => "data copying",
            Self::Scheduling => "scheduling",
            Self::OtherKernel => "other kernel",
            Self::Driver => "network driver",
            Self::Threading => "threading overhead",
            Self::EventHandling => "event overhead",
            Self::Application => "application",
            Self::CLibrary => "C library",
            Self::Other => "other programs",
        }
    }
}

/// Where a processor was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sample<'t> {
    pub(super) whose: Whose,
    pub(super) is_kernel: bool,
    pub(super) symbol: &'t str,
    /// The file without its directory, `[kernel.kallsyms]`, `[unknown]`.
    pub(super) object: &'t str,
}

/// Whose time it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    Server,
    /// The kernel's own, with nothing to run.
    Idle,
    Other,
}

/// To what a sample is counted; `None`: nothing ran.
pub(super) fn part(sample: &Sample<'_>) -> Option<Part> {
    let name = bare(sample.symbol);
    if sample.is_kernel {
        if sample.whose == Whose::Idle && any(IDLE, name) {
            return None;
        }
        return Some(first(KERNEL, name).unwrap_or(Part::OtherKernel));
    }
    Some(match sample.object {
        _ if sample.whose != Whose::Server => Part::Other,
        object if any(C_LIBRARY, object) => first(C_FUNCTIONS, name).unwrap_or(Part::CLibrary),
        _ => first(SERVERS, sample.symbol).unwrap_or(Part::Application),
    })
}

/// Without what a compiler appends to parts of a function (`.isra.0`), and without the underscores
/// that tell a function from its callers.
fn bare(symbol: &str) -> &str {
    let symbol = symbol.split('.').next().unwrap_or(symbol);
    symbol.trim_start_matches('_')
}

/// Patterns stand in one text, with spaces between them.
type Table = &'static [(Part, &'static str)];

fn first(table: Table, name: &str) -> Option<Part> {
    let row = table.iter().find(|(_, patterns)| any(patterns, name));
    row.map(|(part, _)| *part)
}

fn any(patterns: &str, name: &str) -> bool {
    patterns.split_ascii_whitespace().any(|pattern| matches(pattern, name))
}

/// A pattern is a whole name, its beginning (`tcp_*`) or something in it (`*epoll*`).
fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(inner), _) => name.contains(inner.trim_end_matches('*')),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == pattern,
    }
}

/// Where a processor stops. Others of the idle task's functions are work: it runs interrupts, too.
const IDLE: &str = "\
    pv_native_safe_halt native_safe_halt default_idle* arch_cpu_idle acpi_safe_halt \
         acpi_idle_* mwait_idle* intel_idle* poll_idle cpu_do_idle cpuidle_enter_state";

/// The musl library is linked into programs, and is seen as part of them.
const C_LIBRARY: &str = "libc.so* libc-* libpthread* ld-linux* ld-musl* libm.so* libm-* [vdso]";

/// In the C library, but for threads.
const C_FUNCTIONS: Table =
    &[(Part::Threading, "pthread_* lll_* futex_* sem_* clone* start_thread nptl_* swapcontext")];

/// The first row that fits counts, so what is more special stands before.
const KERNEL: Table = &[
    // Waiting for a disk, not a ring.
    (Part::Scheduling, "io_schedule*"),
    (
        // Devices that servers are measured on: of a namespace, a loopback, a guest, a real one.
        Part::Driver,
        "veth_* loopback_* virtnet_* virtqueue_* vring_* tun_* e1000* igb_* ixgbe_* \
         i40e_* ice_* mlx5* ena_* xennet_* gve_*",
    ),
    (
        // Sockets' part of it is called through their table of operations. Rings hand in and hand
        // back, which is what polling is to a readiness loop.
        Part::EventNotification,
        "ep_* *epoll* eventpoll* *sys_poll *sys_select do_poll do_sys_poll do_select \
         core_sys_select select_estimate* poll_* pollwake tcp_poll sock_poll \
         datagram_poll udp_poll unix_poll pipe_poll eventfd_* io_* *io_uring* \
         reverse_path_check* attach_epitem epi_*",
    ),
    (
        // Hardened kernels check the bounds of each copy.
        Part::DataCopying,
        "put_user_* get_user_1 get_user_2 get_user_4 get_user_8 copy_from_* copy_to_* \
         copy_user* rep_movs* rep_stos* memcpy* pi_memcpy memmove* pi_memmove copy_mc_* \
         simple_copy_to_iter skb_copy_datagram* skb_copy_bits csum_and_copy* \
         csum_partial_copy* copyin copyout copy_page_* check_object_size \
         check_heap_object import_iovec iov_iter_* import_ubuf",
    ),
    (
        // The hooks of security modules belong to what they guard.
        Part::Networking,
        "tcp_* tcp4_* tcp6_* ip_* ip4_* ip6_* ipv4_* ipv6_* inet_* inet6_* udp* sk_* \
         sock_* skb_* kfree_skb* consume_skb* alloc_skb* build_skb* napi_* net_* netif_* \
         netdev_* dev_* neigh_* fib_* fib4_* fib6_* nf_* nft_* xfrm* rt_cache* rt_dst* \
         rt_set* rt_add* rt6_* dst_* bbr_* cubictcp_* bictcp_* bpf_sk_* security_sk* \
         security_sock* security_req* security_inet* raw_local_* raw_v4* eth_* qdisc_* \
         sch_* process_backlog enqueue_to_backlog get_rps_cpu validate_xmit* lock_sock* \
         release_sock siphash* secure_* csum_* icmp_* arp_* reqsk_* twsk_* bpf_lsm_sock* \
         bpf_lsm_inet* bpf_lsm_sk* bpf_lsm_req* *sys_sendto *sys_sendmsg *sys_recvfrom \
         *sys_recvmsg *sys_accept4 *sys_setsockopt *sys_getsockopt *sys_shutdown \
         *sys_connect *sys_socket *sys_bind do_accept move_addr_* find_exception fib_* \
         lookup_ifaddr* rps_* rfs_* packet_* gro_* gso_* br_* mptcp_* sockfs_* sockfd_* \
         do_tcp_* do_ip_* do_sock_* do_softirq_own_net ipmr_* switchdev_* page_pool_* \
         flow_* bpf_skops_* sockopt_* minmax_running_*",
    ),
    (
        Part::FileSystem,
        "vfs_* do_filp_* do_sys_open* do_open* do_dentry_open path_* lookup_* link_path_* \
         walk_component step_into d_* dput dget* dentry_* *dentry* filemap_* find_get_* \
         file_* filp_* fput* fget* fdget* fd_install close_fd alloc_fd put_unused_fd \
         get_unused_fd* alloc_file* alloc_empty_file init_file inode_* *inode* iput* \
         iget* evict* splice_* do_splice* do_sendfile *sys_sendfile* generic_file_* \
         generic_perform_* generic_fillattr xas_* xa_* page_cache_* pagecache_* shmem_* \
         ext4_* jbd2_* xfs_* btrfs_* overlay* ovl_* fuse_* getname* putname mnt_* mntput* \
         mntget* lockref_* strncpy_from_user terminate_walk try_to_unlazy* complete_walk \
         may_open legitimize_* security_file* security_inode* security_path* \
         apparmor_file* bpf_lsm_file* bpf_lsm_inode* bpf_inode_* hook_inode_* hook_file_* \
         landlock* i_callback fsnotify* inotify* pipe_* direct_splice* blk_* bio_* \
         submit_bio* mpage_* readahead* ondemand_* drop_buffers* statx* cp_new_stat \
         *sys_newfstat* *sys_open* *sys_close* locks_* expand_files do_statx \
         rw_verify_area nd_jump* set_root new_sync_* destroy_inode* simple_*",
    ),
    (
        Part::Memory,
        "kmem_* kmalloc* kfree* kvfree* slab_* allocate_slab free_slab *slab* new_slab* \
         discard_slab alloc_pages* alloc_frozen* free_unref* free_frozen* get_page_* \
         rmqueue* page_frag* free_page* free_pages* put_page* folio_* folios_* *memcg* \
         obj_cgroup* *obj_stock* mod_memcg* mod_lruvec* mod_node* lruvec_* try_charge* \
         handle_mm_fault *_fault handle_pte_fault do_anonymous_page unmap_* zap_* vma_* \
         vm_area_* mm_* mmap_* do_mmap do_munmap do_vmi_* mas_* mt_* shrink_* lru_* \
         clear_page* pi_clear_page percpu_counter* pcpu_* get_user_pages* gup_* \
         pin_user_* find_vma* tlb_* flush_tlb* pte_* pte pmd_* rmap_* anon_vma* madvise* \
         do_madvise* next_uptodate_folio vm_stat* refresh_cpu_vm* damon_* pfn_to_* \
         charge_* uncharge_* refill_obj* drain_* prep_new_page split_* post_alloc_hook",
    ),
    (
        Part::Scheduling,
        "schedule* pick_* enqueue_task* enqueue_entity dequeue_* update_curr* \
         try_to_wake_up ttwu_* wake_up* wake_q_* autoremove_wake* default_wake* \
         finish_task_switch finish_wait prepare_to_wait* sched_* select_task_rq* \
         select_idle* available_idle_cpu set_next_* put_prev_* context_switch switch_mm* \
         switch_to* futex* do_futex do_idle tick_nohz_* haltpoll_* menu_* cpuidle_* \
         resched* load_balance rebalance_* update_load_avg* update_rq_clock* update_se \
         native_sched_clock nohz_* tmigr_* psi_* place_entity avg_vruntime \
         update_entity_lag check_preempt* wakeup_* cpu_startup_entry set_task_cpu \
         migrate_* rt_mutex* prepare_task_switch newidle_* update_cfs* cpuacct_* \
         cgroup_rstat* css_rstat* need_update quiet_vmstat call_cpuidle raw_spin_rq*",
    ),
    (
        // Unlocking with interrupts let in again, and the start of softirq, are where a held-back
        // timer's sample lands.
        Part::Architecture,
        "entry_* do_syscall* syscall_* x64_sys_* x64_* do_softirq* handle_softirqs irq* \
         local_bh_* raise_softirq* softirq* native_* pv_* raw_callee_save* x2apic_* \
         apic_* lapic_* raw_spin_* raw_read_* raw_write_* queued_* rcu_* call_rcu* srcu_* \
         synchronize_rcu* ktime_* hrtimer* timer* mod_timer* add_timer* del_timer* \
         lock_timer* internal_add_timer get_next_timer* run_timer* clockevents_* read_tsc \
         tsc_* seccomp* populate_seccomp* bpf_prog* bpf_dispatcher* asm_* sysvec_* smp_* \
         flush_smp* generic_smp_* generic_exec_single srso_* error_* ret_* exit_to_* \
         audit_* signal_* do_signal* sigprocmask* mutex_* down_* up_* rwsem_* kvm_* \
         perf_* trace_* list_* find_first_bit find_next_bit x86_* retbleed* \
         common_interrupt handle_irq* handle_edge* note_interrupt idr_* rb_* timerqueue_* \
         calc_wheel* enqueue_timer* tick_* update_process_times run_posix* \
         send_call_function* call_function* set_normalized* text_poke* copy_fpregs*",
    ),
];

/// Servers' own functions, by their whole names. Names of Rust have their crate and module in them,
/// of Go their package; those of C begin with what they belong to.
const SERVERS: Table = &[
    // Weir, and Rust's library.
    (
        Part::Threading,
        "os::processes::thread* os::processes::queue* os::poller::wake* *std::sync* \
         *std::thread* *sys::sync* *mpsc*",
    ),
    // The scheduler of its fibers, which stands in `knot` where it is no call; what a fiber does
    // for its connection is none of it.
    (
        Part::Threading,
        "os::fiber* *threads::fibers::scheduler* *threads::fibers::slots* \
         *threads::fibers::stacks* *threads::fibers::running* *fibers::calls::Parks::park* \
         *fibers::calls::Parks::hand_over* *architectures::knot::knot* *corosensei*",
    ),
    // What loops and fibers hand to helpers.
    (Part::Threading, "*loops::helpers::HandedOver*"),
    // Apache: queues between its threads.
    (Part::Threading, "ap_queue_* ap_thread* apr_thread_* apr_proc_mutex* *worker_thread*"),
    // nginx: its pool.
    (Part::Threading, "ngx_thread_* ngx_shmtx_*"),
    // h2o.
    (Part::Threading, "h2o_multithread* h2o_sem*"),
    // Go: its scheduler.
    (
        Part::Threading,
        "runtime.schedule runtime.findRunnable* runtime.findrunnable* runtime.mcall \
         runtime.gopark* runtime.goready* runtime.park* runtime.ready* runtime.execute \
         runtime.gogo* runtime.gosched* runtime.lock* runtime.unlock* runtime.futex* \
         runtime.runq* runtime.stealWork* runtime.startm runtime.stopm runtime.wakep \
         runtime.notesleep* runtime.notewakeup* runtime.casgstatus runtime.procyield* \
         runtime.osyield* runtime.sema* runtime.newproc* runtime.goexit* runtime.usleep* \
         sync.* internal/sync.* runtime.checkTimers* runtime.runtimer*",
    ),
    // Weir.
    (
        Part::EventHandling,
        "os::poller* *os::poller* os::ring* *os::ring* io_uring::* *io_uring* \
         *phases::Loop::get_events* *getevents* *servers::interest*",
    ),
    // nginx.
    (
        Part::EventHandling,
        "ngx_epoll_* ngx_event_process* ngx_process_events* ngx_handle_read_event \
         ngx_handle_write_event ngx_event_expire* ngx_event_add_timer* \
         ngx_event_del_timer* ngx_add_timer* ngx_rbtree_* ngx_event_find_timer",
    ),
    // lighttpd.
    (Part::EventHandling, "fdevent_*"),
    // h2o.
    (
        Part::EventHandling,
        "h2o_evloop_* evloop_* h2o_timer* h2o_timerwheel* link_to_pending* \
         link_to_statechanged* run_pending* on_read_core update_status*",
    ),
    // Apache.
    (
        Part::EventHandling,
        "apr_pollset_* listener_thread impl_pollset_* apr_pollcb* process_timeout*",
    ),
    // Go.
    (Part::EventHandling, "runtime.netpoll* internal/poll.*"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_belong_to_a_part() {
        let kernel = "[kernel.kallsyms]";
        let (ours, idle, other) = (Whose::Server, Whose::Idle, Whose::Other);
        let rows = [
            (ours, true, "__tcp_transmit_skb", kernel, Some(Part::Networking)),
            (idle, true, "__netif_receive_skb_core.constprop.0", kernel, Some(Part::Networking)),
            (other, true, "tcp_v4_rcv", kernel, Some(Part::Networking)),
            (ours, true, "kfree_skbmem", kernel, Some(Part::Networking)),
            (ours, true, "kfree", kernel, Some(Part::Memory)),
            (ours, true, "__memcg_slab_post_alloc_hook", kernel, Some(Part::Memory)),
            (ours, true, "filemap_splice_read", kernel, Some(Part::FileSystem)),
            (ours, true, "bpf_lsm_inode_free_security", kernel, Some(Part::FileSystem)),
            (ours, true, "_raw_spin_unlock_irqrestore", kernel, Some(Part::Architecture)),
            (ours, true, "handle_softirqs", kernel, Some(Part::Architecture)),
            (ours, true, "tcp_poll", kernel, Some(Part::EventNotification)),
            (ours, true, "do_epoll_ctl", kernel, Some(Part::EventNotification)),
            (ours, true, "io_recv", kernel, Some(Part::EventNotification)),
            (ours, true, "io_schedule", kernel, Some(Part::Scheduling)),
            (ours, true, "_copy_from_iter", kernel, Some(Part::DataCopying)),
            (ours, true, "rt_mutex_slowlock", kernel, Some(Part::Scheduling)),
            (ours, true, "finish_task_switch.isra.0", kernel, Some(Part::Scheduling)),
            (ours, true, "veth_xmit", kernel, Some(Part::Driver)),
            (ours, true, "veth_xmit", "[veth]", Some(Part::Driver)),
            (ours, true, "unheard_of", kernel, Some(Part::OtherKernel)),
            (idle, true, "pv_native_safe_halt", kernel, None),
            (ours, true, "default_idle", kernel, Some(Part::OtherKernel)),
            (idle, true, "do_idle", kernel, Some(Part::Scheduling)),
            (ours, false, "__memmove_avx512_unaligned_erms", "libc.so.6", Some(Part::CLibrary)),
            (ours, false, "__lll_lock_wait", "libc.so.6", Some(Part::Threading)),
            (ours, false, "__vdso_clock_gettime", "[vdso]", Some(Part::CLibrary)),
            (ours, false, "os::poller::epoll::Epoll::wait", "weir", Some(Part::EventHandling)),
            (ours, false, "h1::head::Request>::parse", "weir", Some(Part::Application)),
            (ours, false, "servers::architectures::knot::knot", "weir", Some(Part::Threading)),
            (ours, false, "servers::threads::life::live", "weir", Some(Part::Application)),
            (ours, false, "ngx_epoll_process_events", "nginx", Some(Part::EventHandling)),
            (ours, false, "runtime.schedule", "caddy", Some(Part::Threading)),
            (ours, false, "[unknown]", "nginx", Some(Part::Application)),
            (other, false, "ngx_epoll_process_events", "nginx", Some(Part::Other)),
            (other, false, "malloc", "libc.so.6", Some(Part::Other)),
        ];
        for (whose, is_kernel, symbol, object, expected) in rows {
            let sample = Sample { whose, is_kernel, symbol, object };
            assert_eq!(part(&sample), expected, "{sample:?}");
        }
    }

    #[test]
    fn every_part_but_the_rests_has_functions() {
        let rests = [Part::OtherKernel, Part::Application, Part::CLibrary, Part::Other];
        for part in Part::ALL.into_iter().filter(|part| !rests.contains(part)) {
            let mut rows = KERNEL.iter().chain(SERVERS);
            assert!(rows.any(|(of, _)| *of == part), "{}", part.title());
        }
        for (patterns, name, expected) in [
            ("a b", "b", true),
            ("a b", "bc", false),
            ("b*", "bc", true),
            ("*b*", "abc", true),
            ("*b", "abc", true),
            ("", "b", false),
        ] {
            assert_eq!(any(patterns, name), expected, "{patterns} {name}");
        }
    }
}
