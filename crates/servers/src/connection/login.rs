//! Who asks for what has a password: let in before anything is loaded, by whoever performs.

use std::net::IpAddr;

use h1::{Loaded, Lookup, Miss, Status, Tag};
use os::File;
use site::Verification;

use super::Dialog;
use super::books::Books;
use super::perform::Service;
use crate::session::Event;
use crate::shared::auth_slots::AuthSlots;
use crate::shared::counters::Counter;
use crate::shared::trace::Step;
use crate::shared::verifiers::{Refusal, Verdict};

impl Books<'_> {
    /// What is to be loaded of a miss; nothing: its session waits for a verdict on who asks, or has
    /// its answer. `waits`: whoever performs may wait for the verdict here, by that.
    pub(crate) fn let_in(
        &mut self,
        waits: Option<&mut dyn Service>,
        (token, tag): (u64, Tag),
        dialog: &mut Dialog,
        miss: Miss<File>,
    ) -> Option<Miss<File>> {
        match miss {
            Miss::Path(lookup) if lookup.credentials.is_some() => {
                self.verify(waits, (token, tag), dialog, lookup).map(Miss::Path)
            }
            miss => Some(miss),
        }
    }

    fn verify(
        &mut self,
        waits: Option<&mut dyn Service>,
        (token, tag): (u64, Tag),
        dialog: &mut Dialog,
        lookup: Lookup,
    ) -> Option<Lookup> {
        let (site, common) = (&self.server.site, &self.server.common);
        let of = site.verification(&lookup);
        let of = of.expect("credentials are kept where a rule asks for them");
        let from = dialog.session.asked(tag).and_then(|asked| asked.source);
        if waits.is_some() {
            // Not counted only when it is over: it may take long.
            self.publish();
        }
        let asked = match (common, &self.worker.verifiers, waits) {
            (Some(common), ..) => self.verify_here(&common.auth_slots, &of, from).map(Some),
            (None, Some(verifiers), Some(service)) => {
                service.verdict(verifiers, of, from, self.now.at, (tag, &lookup)).map(Some)
            }
            (None, Some(verifiers), None) => {
                let asker = (token, tag, lookup.clone());
                verifiers.ask(of, from, self.now.at, asker).map(|()| None)
            }
            (None, None, _) => unreachable!("somebody verifies where a rule asks for passwords"),
        };
        match asked {
            Ok(None) => self.handed_over(dialog, tag),
            Ok(Some(lets_in)) => {
                self.look_at_clock();
                if lets_in {
                    return Some(without_credentials(lookup));
                }
                self.loaded(dialog, tag, site.turn_down(&lookup));
            }
            Err(refusal) => {
                let told = self.put_off(&lookup, &refusal);
                dialog.session.tell(Event::Loaded(tag, told), &self.now);
            }
        }
        None
    }

    fn verify_here(
        &mut self,
        slots: &AuthSlots,
        of: &Verification,
        from: Option<IpAddr>,
    ) -> Result<bool, Refusal> {
        let lets_in = slots.verify(self.worker.number, of, from, self.now.at)?;
        self.tally.add(Counter::Verifications, 1);
        Ok(lets_in)
    }

    fn put_off(&mut self, lookup: &Lookup, refusal: &Refusal) -> Loaded<File> {
        let (counter, status, retry_after_s) = match refusal {
            Refusal::OfAddress { retry_after_s } => {
                (Counter::LoginsThrottled, Status::TOO_MANY_REQUESTS, *retry_after_s)
            }
            Refusal::Full | Refusal::NoThread(_) => {
                (Counter::LoginsRefused, Status::SERVICE_UNAVAILABLE, 1)
            }
        };
        self.tally.add(counter, 1);
        if let Refusal::NoThread(error) = refusal {
            self.tally.add(Counter::MachineFaults, 1);
            let so = "no password can be verified";
            self.server.errors.no_thread(so, self.worker.number, error, self.now.at);
        }
        self.server.site.put_off(lookup, status, retry_after_s)
    }

    /// The verdict on who asked has fallen: what is still to be loaded for the connection.
    pub(crate) fn judged(&mut self, dialog: &mut Dialog, verdict: Verdict) -> Option<Miss<File>> {
        let Verdict { tag, lookup, lets_in, .. } = verdict;
        if lets_in {
            // The load begins anew.
            self.taken_back(dialog);
            return Some(Miss::Path(without_credentials(lookup)));
        }
        let refused = self.server.site.turn_down(&lookup);
        self.came_back(dialog, tag, (Step::Path, None), refused);
        None
    }
}

fn without_credentials(lookup: Lookup) -> Lookup {
    Lookup { credentials: None, ..lookup }
}
