//! Classes that are set aside for one document, because its work budget was spent.
//!
//! The steps of a document are divided among the classes that caused them. The cheapest classes
//! that together fit the budget remain, and the document is matched again with these; all others are
//! set aside. The result depends only on the document, the index and the limits.

use crate::dispatch::document_work::DocumentWork;
use crate::matching::bit_set::BitSet;
use crate::matching::class_costs::ClassCosts;

/// How often the costs decide which classes remain. If the budget is spent once more, none remains.
const ATTEMPTS_MAX: usize = 3;

/// Share of the budget that the remaining classes should take, by attempt: the steps of the part of
/// the document that was read only predict those of the rest. After the last attempt, only queries
/// that take next to nothing remain.
const TARGET_SHARES: [f64; ATTEMPTS_MAX] = [0.5, 0.125, 0.02];

/// Share of the budget that each reading may take.
const READING_SHARES: [f64; ATTEMPTS_MAX + 1] = [1.0, 0.75, 0.25, 0.125];

/// The classes that are set aside; each is given by the position of its view and its number there.
#[derive(Default)]
pub(super) struct SetAside {
    by_view: Vec<BitSet>,
    count: usize,
    attempts: usize,
}

impl SetAside {
    /// Whether a class is set aside.
    pub fn contains(&self, view: usize, class: u32) -> bool {
        let classes = self.by_view.get(view);
        classes.is_some_and(|classes| classes.contains_growing(class))
    }

    /// Whether no class is set aside.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds classes of a view.
    pub fn extend(&mut self, view: usize, classes: impl IntoIterator<Item = u32>) {
        if self.by_view.len() <= view {
            self.by_view.resize_with(view + 1, BitSet::default);
        }
        let set = &mut self.by_view[view];
        let new = classes
            .into_iter()
            .filter(|&class| set.insert_growing(class));
        self.count += new.count();
    }

    /// The steps that one trie node may take: unlimited at first, then a fair share of what the
    /// remaining classes should take.
    pub fn node_quota(&self, work: &DocumentWork) -> u64 {
        let Some(attempt) = self.attempts.checked_sub(1) else {
            return u64::MAX;
        };
        let share = TARGET_SHARES.get(attempt).copied().unwrap_or_default();
        let remaining = (work.subscriptions as usize).saturating_sub(self.count);
        (work.steps as f64 * share) as u64 / remaining.max(1) as u64
    }

    /// The steps that the next reading may take.
    pub fn reading_steps(&self, work: &DocumentWork) -> i64 {
        let share = READING_SHARES.get(self.attempts).copied();
        (work.steps as f64 * share.unwrap_or(READING_SHARES[ATTEMPTS_MAX])) as i64
    }

    /// Whether no class remains.
    pub fn leaves_none(&self) -> bool {
        self.attempts > ATTEMPTS_MAX
    }

    /// Sets the most expensive classes aside. `steps` are those that classes took until the budget
    /// was spent, after the `share_read` of the document.
    pub fn add_most_expensive(&mut self, mut steps: Vec<((usize, u32), f64)>, share_read: f64) {
        let total: f64 = steps.iter().map(|(_, steps)| steps).sum();
        let mut left = self.next_target(total, share_read);
        sort_by_steps(&mut steps);
        for ((view, class), steps) in steps {
            left -= steps;
            if left < 0.0 {
                self.extend(view, [class]);
            }
        }
    }

    /// Sets the most expensive classes aside, by the costs of the parts of the index that they use,
    /// by view. The first attempt divides the cost of a part among its users, as if leaving one of
    /// them out saved its share. The later ones assume that leaving out all of them is what saves
    /// it.
    pub fn add_most_expensive_of(&mut self, costs: Vec<ClassCosts<'_>>, share_read: f64) {
        if self.attempts == 0 {
            let divided = by_view(&costs, ClassCosts::divided);
            return self.add_most_expensive(divided, share_read);
        }
        self.add_users_of_most_expensive(costs, share_read);
    }

    /// Sets the classes aside that use the most expensive parts, by view. Each class counts with all
    /// parts that it uses, except those that a cheaper class uses, too.
    pub fn add_users_of_most_expensive(&mut self, mut costs: Vec<ClassCosts<'_>>, share_read: f64) {
        let total = costs.iter().map(ClassCosts::total).sum();
        let mut left = self.next_target(total, share_read);
        let mut undivided = by_view(&costs, ClassCosts::undivided);
        sort_by_steps(&mut undivided);
        for ((view, class), _) in undivided {
            let steps = costs[view].unpaid(class);
            if steps <= left {
                left -= steps;
                costs[view].pay(class);
            } else {
                self.extend(view, [class]);
            }
        }
    }

    /// The steps that the remaining classes may have taken so far; negative after the last attempt.
    fn next_target(&mut self, total: f64, share_read: f64) -> f64 {
        let target_share = TARGET_SHARES.get(self.attempts);
        self.attempts += 1;
        target_share.map_or(-1.0, |share| total * share_read * share)
    }

    /// The classes, in order.
    pub fn sorted(&self) -> Vec<(usize, u32)> {
        let views = self.by_view.iter().enumerate();
        views
            .flat_map(|(view, classes)| classes.iter().map(move |class| (view, class)))
            .collect()
    }
}

/// Calls `costs_of` for each view.
fn by_view<'p>(
    costs: &[ClassCosts<'p>],
    costs_of: impl Fn(&ClassCosts<'p>) -> Vec<(u32, f64)>,
) -> Vec<((usize, u32), f64)> {
    let views = costs.iter().enumerate();
    views
        .flat_map(|(view, costs)| {
            let classes = costs_of(costs).into_iter();
            classes.map(move |(class, steps)| ((view, class), steps))
        })
        .collect()
}

/// Sorts classes by their steps; those with equal steps by number, so that the order is repeatable.
fn sort_by_steps(classes: &mut [((usize, u32), f64)]) {
    classes.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_classes_remain_as_far_as_the_budget_reaches() {
        let mut aside = SetAside::default();
        let steps = [
            ((0, 0), 500.0),
            ((0, 1), 0.0),
            ((1, 0), 40.0),
            ((1, 1), 460.0),
        ];
        aside.add_most_expensive(steps.to_vec(), 0.1);
        assert_eq!(aside.sorted(), [(0, 0), (1, 1)]);
        assert!(aside.contains(1, 1) && !aside.contains(0, 1));
    }

    #[test]
    fn no_class_remains_after_the_last_attempt() {
        let mut aside = SetAside::default();
        for kept in [50, 12, 2, 0] {
            aside.by_view.clear();
            let steps = (0..100).map(|class| ((0, class), 1.0)).collect();
            aside.add_most_expensive(steps, 1.0);
            assert_eq!(aside.sorted().len(), 100 - kept);
        }
    }
}
