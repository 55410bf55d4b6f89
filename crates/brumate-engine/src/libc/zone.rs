//! The zone of the guest's local time: offsets from UTC, each from a moment on. The driver makes them of `TZ`
//! (`time.tzset`) and gives them to the host, because the functions of the C library that know local time are here.

use serde::{Deserialize, Serialize};

use brumate_abi::errno::Errno;
use brumate_abi::memory::GuestMemory;

/// Request of `ioctl` on any open file: the zone. The argument is a block: the number of entries, with four bytes, and four
/// of padding; then for each the moment in seconds since 1970 (8 bytes), seconds east of UTC (4), whether it is summer time
/// (4), and its name with zeros behind it ([`NAME_BYTES`]). The first entry also holds before its moment. Without entries
/// local time is UTC.
pub(super) const SET_ZONE: i32 = 0x4272_0003;

/// Most entries of a zone.
const MAX_ZONE_ENTRIES: u32 = 4096;

/// Largest offset from UTC, in seconds.
const MAX_OFFSET: i32 = 26 * 3600;

/// Bytes of a name and of its end: the C library has room for so many.
const NAME_BYTES: usize = 16;

/// Bytes of an entry.
const ENTRY_BYTES: u32 = 16 + NAME_BYTES as u32;

/// Zones with an entry after this moment, in the year 2400, have rules that go on for ever.
const FOR_EVER: i64 = 13_569_465_600;

/// Seconds of 400 years, after which the calendar repeats.
const CYCLE: i64 = 146_097 * 86_400;

/// An offset from a moment on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    at: i64,
    /// Seconds east of UTC.
    pub(super) offset: i32,
    pub(super) is_summer: bool,
    pub(super) name: [u8; NAME_BYTES],
}

/// A zone; empty for UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Zone(Vec<Entry>);

impl Zone {
    /// Reads the block of [`SET_ZONE`].
    ///
    /// # Errors
    /// `EFAULT`, `EINVAL`.
    pub(super) fn read(memory: &GuestMemory<'_>, block: u32) -> Result<Zone, Errno> {
        let count = memory.read_u32(block)?;
        if count > MAX_ZONE_ENTRIES {
            return Err(Errno::EINVAL);
        }
        let start = block.checked_add(8).ok_or(Errno::EFAULT)?;
        let bytes = memory.slice(start, count * ENTRY_BYTES)?;
        let entries = bytes.chunks_exact(ENTRY_BYTES as usize).map(Entry::decode);
        let zone = Zone(entries.collect::<Option<_>>().ok_or(Errno::EINVAL)?);
        if zone.is_sound() { Ok(zone) } else { Err(Errno::EINVAL) }
    }

    /// Whether it is in order: also for a zone of saved state.
    pub(crate) fn is_sound(&self) -> bool {
        self.0.len() <= MAX_ZONE_ENTRIES as usize
            && self.0.is_sorted_by(|one, next| one.at < next.at)
            && self.0.iter().all(|entry| entry.offset.unsigned_abs() <= MAX_OFFSET.unsigned_abs() && entry.has_name())
    }

    /// Returns the entry that is in force at a moment; `None` for UTC.
    pub(super) fn at(&self, seconds: i64) -> Option<&Entry> {
        self.0.get(self.index(seconds))
    }

    /// Returns the index of the entry that is in force at a moment. After the last entry the years repeat, if the rules go on.
    fn index(&self, seconds: i64) -> usize {
        let mut seconds = seconds;
        if let Some(last) = self.0.last().filter(|last| last.at > FOR_EVER)
            && seconds > last.at
        {
            seconds = last.at - CYCLE + (seconds - last.at).rem_euclid(CYCLE);
        }
        self.0.partition_point(|entry| entry.at <= seconds).saturating_sub(1)
    }

    /// Returns the moment that has this local time, in seconds since 1970 as if it were UTC. `summer`: whether it is summer
    /// time, if that is known. A time that there is twice is the first one unless `summer` says otherwise; one that is
    /// skipped counts on from before.
    pub(super) fn moment(&self, local: i64, summer: Option<bool>) -> i64 {
        let offset = |index: usize| self.0.get(index).map_or(0, |entry| i64::from(entry.offset));
        // One of the offsets around it is the one.
        let (before, after) = (self.index(local - 2 * 86_400), self.index(local + 2 * 86_400));
        let near = before.min(after)..before.max(after).saturating_add(1);
        let fits = |index: &usize| {
            let moment = local - offset(*index);
            self.at(moment).map(|entry| (i64::from(entry.offset), entry.is_summer))
                == self.0.get(*index).map(|entry| (offset(*index), entry.is_summer))
        };
        let valid: Vec<usize> = near.take(4).filter(fits).collect();
        let wanted = |index: &&usize| {
            summer.is_none_or(|summer| self.0.get(**index).is_some_and(|entry| entry.is_summer == summer))
        };
        if let Some(index) = valid.iter().find(wanted) {
            return local - offset(*index);
        }
        // Said to be the other time: the nearest offset of that.
        if let (Some(summer), Some(&here)) = (summer, valid.first()) {
            let others = (1..=2).flat_map(|step| [here.checked_sub(step), here.checked_add(step)]).flatten();
            let other = others.filter_map(|index| self.0.get(index)).find(|entry| entry.is_summer == summer);
            return local - other.map_or_else(|| offset(here), |entry| i64::from(entry.offset));
        }
        // This local time is skipped.
        local - offset(if summer == Some(true) { after } else { before })
    }
}

impl Entry {
    fn decode(bytes: &[u8]) -> Option<Entry> {
        let (at, rest) = bytes.split_first_chunk::<8>()?;
        let (offset, rest) = rest.split_first_chunk::<4>()?;
        let (summer, rest) = rest.split_first_chunk::<4>()?;
        let (at, offset) = (i64::from_le_bytes(*at), i32::from_le_bytes(*offset));
        Some(Entry { at, offset, is_summer: u32::from_le_bytes(*summer) != 0, name: *rest.first_chunk()? })
    }

    /// Whether the name is a short text that ends within its place.
    fn has_name(&self) -> bool {
        let end = self.name.iter().position(|&byte| byte == 0);
        end.is_some_and(|end| self.name[..end].iter().all(u8::is_ascii_graphic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;

    fn entry(at: i64, offset: i64, is_summer: bool, name: &str) -> Entry {
        let mut bytes = [0; NAME_BYTES];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Entry { at, offset: offset as i32, is_summer, name: bytes }
    }

    /// Berlin in 2024.
    fn berlin() -> Zone {
        Zone(vec![
            entry(1_698_541_200, HOUR, false, "CET"),
            entry(1_711_846_800, 2 * HOUR, true, "CEST"),
            entry(1_729_990_800, HOUR, false, "CET"),
        ])
    }

    #[test]
    fn offsets_hold_from_their_moment_on() {
        let zone = berlin();
        for (seconds, offset) in [(0, 1), (1_711_846_799, 1), (1_711_846_800, 2), (1_729_990_799, 2), (1 << 40, 1)] {
            assert_eq!(i64::from(zone.at(seconds).unwrap().offset), offset * HOUR, "{seconds}");
        }
        assert_eq!(Zone::default().at(0), None);
    }

    #[test]
    fn local_times_have_a_moment() {
        let zone = berlin();
        // Noon in winter and in summer; 2:30 that is skipped and that is there twice.
        let (winter, summer) = (1_704_110_400, 1_719_835_200);
        let (skipped, twice) = (1_711_852_200, 1_729_996_200);
        for (local, known, offset) in [
            (winter, None, 1),
            (winter, Some(false), 1),
            (winter, Some(true), 2),
            (summer, None, 2),
            (summer, Some(false), 1),
            (skipped, None, 1),
            (skipped, Some(true), 2),
            (skipped, Some(false), 1),
            (twice, None, 2),
            (twice, Some(true), 2),
            (twice, Some(false), 1),
        ] {
            assert_eq!(zone.moment(local, known), local - offset * HOUR, "{local} {known:?}");
        }
        assert_eq!(Zone::default().moment(5, Some(true)), 5);
    }

    #[test]
    fn years_beyond_the_table_repeat() {
        let half_years =
            (0..=1000).map(|half| entry(half * CYCLE / 800, if half % 2 == 0 { HOUR } else { 0 }, half % 2 == 0, "A"));
        let zone = Zone(half_years.collect());
        let last = 1000 * CYCLE / 800;
        assert!(last > FOR_EVER);
        for step in [5, CYCLE / 800 + 5, 3 * CYCLE / 800 + 5] {
            let expected = (zone.at(last - CYCLE + step), i64::from(zone.at(last - CYCLE + step).unwrap().offset));
            assert_eq!(zone.at(last + step), expected.0, "{step}");
            assert_eq!(i64::from(zone.at(last + step + 7 * CYCLE).unwrap().offset), expected.1, "{step}");
        }
    }

    #[test]
    fn what_is_no_zone_is_refused() {
        let mut bytes = vec![0; 1 << 12];
        let block = |entries: &[Entry], count: u32| {
            let mut block = [count.to_le_bytes(), [0; 4]].concat();
            for entry in entries {
                block.extend(entry.at.to_le_bytes());
                block.extend(entry.offset.to_le_bytes());
                block.extend(u32::from(entry.is_summer).to_le_bytes());
                block.extend(entry.name);
            }
            block
        };
        let mut read = |block: &[u8]| {
            bytes[64..64 + block.len()].copy_from_slice(block);
            Zone::read(&GuestMemory::new(&mut bytes), 64)
        };
        let good = berlin();
        assert_eq!(read(&block(&good.0, 3)).unwrap(), good);
        assert_eq!(read(&block(&[], 0)).unwrap(), Zone::default());
        let wild = [entry(0, 30 * HOUR, false, "A"), entry(0, i64::from(i32::MIN), false, "A")];
        let unnamed = Entry { name: [b'A'; NAME_BYTES], ..entry(0, 0, false, "") };
        for entries in
            [vec![good.0[1].clone(), good.0[0].clone()], vec![wild[0].clone()], vec![wild[1].clone()], vec![unnamed]]
        {
            assert_eq!(read(&block(&entries, entries.len() as u32)), Err(Errno::EINVAL));
        }
        assert_eq!(read(&block(&good.0, MAX_ZONE_ENTRIES + 1)), Err(Errno::EINVAL));
        assert_eq!(read(&block(&good.0, MAX_ZONE_ENTRIES)), Err(Errno::EFAULT));
        assert_eq!(Zone::read(&GuestMemory::new(&mut [0; 8]), u32::MAX), Err(Errno::EFAULT));
    }
}
