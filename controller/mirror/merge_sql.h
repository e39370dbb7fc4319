// The statements that stage and merge rows of one table. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace railgauge::mirror {

// Makes the staging table of this session.
std::string staging_sql(std::size_t table);
// Copies into it.
std::string copy_sql(std::size_t table);
// Merges it for `site`: rows are updated by their key, and where deletes are carried over, rows of
// `keys` that are no longer there are deleted. Ends with an empty staging table.
std::string merge_sql(std::size_t table, std::int64_t site, std::span<const std::int64_t> keys);
// Deletes rows with keys in (after, through] that are not staged, of tables whose deletes are
// always carried over; "" for the others, whose rows may be gone by retention.
std::string delete_range_sql(std::size_t table, std::int64_t site, std::int64_t after,
                             std::int64_t through);
// Makes the partition of a month, given as year * 12 + month from 0.
std::string month_sql(int month);
// The same where the table of the others has points of it: they move into it. Needs a transaction.
std::string month_from_others_sql(int month);
std::string month_begin(int month);  // "2026-11-01 00:00+00"
std::string month_name(int month);   // "point_y2026m11"
int month_of(double seconds);        // unix seconds, UTC

}  // namespace railgauge::mirror
