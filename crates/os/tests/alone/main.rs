//! Tests that each need a process of their own with a single thread, because they fork, take
//! signals, lower limits or confine themselves.

mod close_on_exec;
#[path = "../it/connection/mod.rs"]
mod connection;
mod fiber_overflow;
mod interrupted;
mod keeper;
mod landlock;
mod limits;
mod output;
mod process;
mod seccomp;
mod shared_words;
mod sharing;
mod sharing_kills;
mod signals;
mod spare;
mod users;

use std::process::ExitCode;

use harness::run_alone;

/// The rows of a module: each test's name, and a call of it through a function that makes what the
/// test needs.
macro_rules! rows {
    ($through:path, $module:ident: $($test:ident)*) => {
        &[$((
            concat!(stringify!($module), "::", stringify!($test)),
            (|| $through($module::$test)) as fn(),
        )),*]
    };
}

const TESTS: [&[harness::Test]; 14] = [
    rows!(plainly, close_on_exec:
        programs_inherit_nothing
    ),
    rows!(plainly, fiber_overflow:
        an_overflow_ends_the_process_with_a_line
        another_fault_ends_it_without_that
        a_fiber_that_is_parked_is_not_dropped
    ),
    rows!(interrupted::with_handler, interrupted:
        a_receive_goes_on
        a_send_goes_on
        sending_a_file_goes_on
        waits_say_that_nothing_happened
        what_does_not_wait_is_not_disturbed
    ),
    rows!(with_landlock, landlock:
        what_is_granted_can_be_reached
        nothing_else_can_be_reached
        the_network_is_closed
        a_path_that_cannot_be_looked_up_grants_nothing
    ),
    rows!(plainly, limits:
        the_limit_is_raised
        open_descriptors_are_counted
        the_longest_queue_is_told
    ),
    rows!(plainly, output:
        half_a_line_does_not_take_the_next
    ),
    rows!(plainly, process:
        a_process_ends_as_it_is_told
        several_that_ended_are_buried_one_by_one
        a_child_knows_who_it_is
        a_child_keeps_what_it_needs
        a_child_dies_with_its_parent
        a_child_whose_parent_is_gone_ends_itself
        a_program_whose_parent_is_gone_does_not_run
        a_parent_may_be_a_child_too
        what_was_printed_is_written_once
        ends_are_told_in_words
        a_group_ends_as_a_whole
        orphans_are_adopted_and_buried
        another_process_is_asked_how_long_it_has_run
        a_process_with_threads_does_not_fork
        a_process_knows_how_long_it_has_run
    ),
    rows!(with_seccomp, seccomp:
        what_a_worker_does_goes_on
        what_it_never_does_is_refused
        what_only_others_would_do_ends_it
        its_signals_are_for_itself
        no_descriptor_of_its_signals_others
        others_do_not_give_way_to_it
        rings_are_for_those_who_have_one
    ),
    rows!(plainly, shared_words:
        all_processes_see_all_changes
        no_count_is_lost
        words_outlive_who_wrote_them
        one_process_may_forget_them
        notices_are_written_by_who_made_them
    ),
    rows!(keep_stopping, sharing:
        members_share_one_table
        copies_of_what_the_keeper_has_close_nothing
        what_is_lent_to_one_is_no_others
        a_keeper_does_not_fork
        there_are_no_more_than_there_are_words_for
        who_dies_anywhere_leaves_nothing
        a_client_of_the_dead_is_let_go
        tables_of_the_system_are_read_by_descriptors_that_are_noted
        who_was_to_be_woken_is_woken
        who_sleeps_beside_the_dead_is_woken
        who_makes_or_closes_is_not_robbed
        who_gets_a_number_again_is_not_robbed
        what_others_read_outlives_the_store
        a_file_is_closed_by_who_sweeps_it
    ),
    rows!(keeper::keep, sharing_kills:
        processes_are_killed_and_others_go_on
    ),
    rows!(plainly, signals:
        signals_are_read
        what_was_not_taken_is_not_read
        a_wait_ends_with_a_signal
        pollers_see_signals
        a_child_that_ends_is_a_signal
        released_signals_have_their_effect
        children_go_on_taking_signals
        nobody_dies_of_a_peer_that_left
    ),
    rows!(plainly, spare:
        everything_says_that_none_is_left
        connections_are_refused_one_by_one
        nobody_is_refused_where_nobody_waits
        the_spare_one_comes_back
    ),
    rows!(plainly, users:
        a_name_or_a_number_stands_for_a_user
        a_name_or_a_number_stands_for_a_group
        who_has_become_another_stays_so
    ),
];

fn main() -> ExitCode {
    run_alone(&TESTS.concat())
}

fn plainly(test: fn()) {
    test();
}

fn with_landlock(test: fn()) {
    match os::landlock::version() {
        Ok(_) => test(),
        Err(error) => harness::skip(format!("needs Landlock: {error}")),
    }
}

fn with_seccomp(test: fn()) {
    match os::seccomp::probe() {
        Ok(_) => test(),
        Err(error) => harness::skip(format!("needs seccomp: {error}")),
    }
}

/// Processes stop at a failpoint, which only builds with debug assertions have.
fn keep_stopping(test: fn(keeper::Keeper)) {
    if cfg!(debug_assertions) {
        keeper::keep(test);
    } else {
        harness::skip("needs a build with debug assertions");
    }
}
