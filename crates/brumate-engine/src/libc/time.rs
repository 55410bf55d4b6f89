//! Time: clocks, the calendar and local time, which is UTC until the guest sets its zone.

use wasmtime::{Caller, Linker, StoreContextMut};

use super::zone::Entry;
use crate::host::{Host, split};
use crate::threads::{self, Wait, waiting};
use brumate_abi::errno::Errno;
use brumate_abi::memory::GuestMemory;
use brumate_module::patch::SLEEP_TIMER;

/// Offsets in `struct tm` (44 bytes, musl).
mod tm {
    pub(super) const SECOND: u32 = 0;
    pub(super) const MINUTE: u32 = 4;
    pub(super) const HOUR: u32 = 8;
    pub(super) const DAY: u32 = 12;
    pub(super) const MONTH: u32 = 16;
    pub(super) const YEAR: u32 = 20;
    pub(super) const WEEKDAY: u32 = 24;
    pub(super) const YEARDAY: u32 = 28;
    pub(super) const DST: u32 = 32;
    pub(super) const GMTOFF: u32 = 36;
}

/// Days since 1970-01-01 of a proleptic Gregorian date; `month` 1 to 12.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years that start in March make the leap day the last of the year; 400 years are 146,097 days.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Inverse of [`days_from_civil`]: year, month (1 to 12), day.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Writes the broken-down time of `seconds` since 1970. Times outside any calendar (|year| > 2^31) are clamped.
fn write_tm(memory: &mut GuestMemory<'_>, seconds: i64, address: u32) -> Result<(), Errno> {
    const LIMIT: i64 = 60_000_000_000_000_000;
    let seconds = seconds.clamp(-LIMIT, LIMIT);
    let days = seconds.div_euclid(86_400);
    let rest = seconds.rem_euclid(86_400);
    let (year, month, day) = civil_from_days(days);
    let fields = [
        (tm::SECOND, rest % 60),
        (tm::MINUTE, rest / 60 % 60),
        (tm::HOUR, rest / 3600),
        (tm::DAY, day),
        (tm::MONTH, month - 1),
        (tm::YEAR, year - 1900),
        (tm::WEEKDAY, (days + 4).rem_euclid(7)),
        (tm::YEARDAY, days - days_from_civil(year, 1, 1)),
    ];
    for (offset, value) in fields {
        memory.write_u32(address.wrapping_add(offset), value as u32)?;
    }
    Ok(())
}

/// Seconds since 1970 of a broken-down time, whose fields are normalised in place.
fn read_tm(memory: &mut GuestMemory<'_>, address: u32) -> Result<i64, Errno> {
    let field = |offset: u32| memory.read_u32(address.wrapping_add(offset)).map(|value| i64::from(value as i32));
    let months = field(tm::MONTH)?;
    let year = field(tm::YEAR)? + 1900 + months.div_euclid(12);
    let days = days_from_civil(year, months.rem_euclid(12) + 1, 1) + field(tm::DAY)? - 1;
    let seconds = days * 86_400 + field(tm::HOUR)? * 3600 + field(tm::MINUTE)? * 60 + field(tm::SECOND)?;
    write_tm(memory, seconds, address)?;
    Ok(seconds)
}

/// Returns the address of the C library's two names of the zone (`tzname`).
fn zone_names(caller: &mut Caller<'_, Host>) -> Option<u32> {
    let global = caller.get_export("tzname")?.into_global()?;
    global.get(caller).i32().map(|address| address as u32)
}

/// Writes what a broken-down time says of its zone, and the zone's name to where the C library takes it from.
fn write_zone(
    memory: &mut GuestMemory<'_>,
    entry: Option<&Entry>,
    names: Option<u32>,
    address: u32,
) -> Result<(), Errno> {
    let (summer, offset) = entry.map_or((false, 0), |entry| (entry.is_summer, entry.offset));
    memory.write_u32(address.wrapping_add(tm::DST), summer.into())?;
    memory.write_u32(address.wrapping_add(tm::GMTOFF), offset as u32)?;
    let Some(names) = names else { return Ok(()) };
    let place = memory.read_u32(names.wrapping_add(4 * u32::from(summer)))?;
    match entry {
        Some(entry) => memory.write(place, &entry.name),
        None => memory.write(place, b"UTC\0"),
    }
}

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    linker.func_wrap("env", "emscripten_date_now", |caller: Caller<'_, Host>| -> f64 {
        caller.data().clock.realtime() as f64 / 1e6
    })?;
    linker.func_wrap("env", "emscripten_get_now", |caller: Caller<'_, Host>| -> f64 {
        caller.data().clock.monotonic() as f64 / 1e6
    })?;
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "clock_time_get",
        |mut caller: Caller<'_, Host>, id: u32, _precision: i64, out: u32| -> i32 {
            let (mut memory, host) = split(&mut caller);
            let value = match id {
                0 => host.clock.realtime(),
                1 => host.clock.monotonic(),
                2 | 3 => host.clock.process_cpu(),
                _ => return Errno::EINVAL.as_wasi(),
            };
            memory.write_u64(out, value).map_or_else(Errno::as_wasi, |()| 0)
        },
    )?;
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "clock_res_get",
        |mut caller: Caller<'_, Host>, id: u32, out: u32| -> i32 {
            if id > 3 {
                return Errno::EINVAL.as_wasi();
            }
            split(&mut caller).0.write_u64(out, 1).map_or_else(Errno::as_wasi, |()| 0)
        },
    )?;
    linker.func_wrap("env", "_gmtime_js", |mut caller: Caller<'_, Host>, time: i64, out: u32| {
        let _ = write_tm(&mut split(&mut caller).0, time, out);
    })?;
    linker.func_wrap("env", "_localtime_js", |mut caller: Caller<'_, Host>, time: i64, out: u32| {
        let names = zone_names(&mut caller);
        let (mut memory, host) = split(&mut caller);
        let entry = host.zone.at(time);
        let offset = entry.map_or(0, |entry| entry.offset);
        let _ = write_tm(&mut memory, time.saturating_add(offset.into()), out)
            .and_then(|()| write_zone(&mut memory, entry, names, out));
    })?;
    linker.func_wrap("env", "_timegm_js", |mut caller: Caller<'_, Host>, address: u32| -> i64 {
        read_tm(&mut split(&mut caller).0, address).unwrap_or(-1)
    })?;
    linker.func_wrap("env", "_mktime_js", |mut caller: Caller<'_, Host>, address: u32| -> i64 {
        let names = zone_names(&mut caller);
        let (mut memory, host) = split(&mut caller);
        let moment = |memory: &mut GuestMemory<'_>| {
            let summer = memory.read_u32(address.wrapping_add(tm::DST))? as i32;
            let seconds = host.zone.moment(read_tm(memory, address)?, (summer >= 0).then_some(summer > 0));
            let entry = host.zone.at(seconds);
            write_tm(memory, seconds.saturating_add(entry.map_or(0, |entry| entry.offset.into())), address)?;
            write_zone(memory, entry, names, address)?;
            Ok::<i64, Errno>(seconds)
        };
        moment(&mut memory).unwrap_or(-1)
    })?;
    linker.func_wrap(
        "env",
        "_tzset_js",
        |mut caller: Caller<'_, Host>, zone: u32, daylight: u32, standard_name: u32, daylight_name: u32| {
            let mut memory = split(&mut caller).0;
            let _ = memory.write_u32(zone, 0);
            let _ = memory.write_u32(daylight, 0);
            let _ = memory.write(standard_name, b"UTC\0");
            let _ = memory.write(daylight_name, b"UTC\0");
        },
    )?;
    waiting!(linker, threads, "env", "_setitimer_js", set_timer, (which: i32, milliseconds: f64));
    Ok(())
}

/// Sleeps, see [`SLEEP_TIMER`]. A sleep of no time lets other threads run.
async fn set_timer(store: &mut StoreContextMut<'_, Host>, which: i32, milliseconds: f64) -> wasmtime::Result<i32> {
    if which == SLEEP_TIMER {
        let duration = std::time::Duration::try_from_secs_f64(milliseconds / 1e3).ok();
        let deadline = duration.and_then(|duration| std::time::Instant::now().checked_add(duration));
        let wait = if milliseconds > 0.0 { Wait::Time } else { Wait::Turn };
        threads::wait(store, wait, deadline).await?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(seconds: i64) -> (i64, [i32; 8]) {
        let mut bytes = vec![0; 64];
        let mut memory = GuestMemory::new(&mut bytes);
        write_tm(&mut memory, seconds, 0).unwrap();
        let fields = std::array::from_fn(|index| memory.read_u32(index as u32 * 4).unwrap() as i32);
        (read_tm(&mut memory, 0).unwrap(), fields)
    }

    #[test]
    fn known_instants() {
        assert_eq!(round_trip(0).1, [0, 0, 0, 1, 0, 70, 4, 0]);
        // 2000-02-29 23:59:59, a Tuesday.
        assert_eq!(round_trip(951_868_799).1, [59, 59, 23, 29, 1, 100, 2, 59]);
        // 1900-03-01: 1900 was no leap year.
        assert_eq!(round_trip(-2_203_891_200).1, [0, 0, 0, 1, 2, 0, 4, 59]);
    }

    #[test]
    fn every_day_round_trips() {
        for day in -800_000..800_000 {
            let seconds = day * 86_400 + 12_345;
            assert_eq!(round_trip(seconds).0, seconds);
        }
    }

    #[test]
    fn fields_out_of_range_are_normalised() {
        let mut bytes = vec![0; 64];
        let mut memory = GuestMemory::new(&mut bytes);
        // Month 13 of 1970, day 0, hour 25.
        for (offset, value) in [(tm::MONTH, 13), (tm::YEAR, 70), (tm::DAY, 0), (tm::HOUR, 25)] {
            memory.write_u32(offset, value).unwrap();
        }
        let seconds = read_tm(&mut memory, 0).unwrap();
        assert_eq!(seconds, days_from_civil(1971, 1, 31) * 86_400 + 25 * 3600);
        assert_eq!(memory.read_u32(tm::DAY).unwrap(), 1);
        assert_eq!(memory.read_u32(tm::MONTH).unwrap(), 1);
    }
}
