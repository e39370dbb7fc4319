#include "controller/store/ingest/interner.h"

#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/rows/text_json.h"

namespace railgauge::store {
namespace {

constexpr std::size_t kMaxCachedBytes = 4U << 20U;
constexpr std::size_t kMaxCachedSeries = 1U << 20U;  // some 60 MB
constexpr std::size_t kMaxNumbers = 1U << 16U;
constexpr std::size_t kMaxCachedKeyBytes = 16U << 10U;  // longer ones are looked up each time

// "mlx5_0:1" to device and port; a GPU and whatever else has port 0.
std::pair<std::string_view, std::uint32_t> split_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::uint32_t port = 0;
  if (colon == std::string_view::npos) return {text, 0};
  const char* end = text.data() + text.size();
  const auto [used, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || used != end) return {text, 0};
  return {text.substr(0, colon), port};
}

std::string slot_of(const EndpointRow& row) {
  if (!row.pci_address.empty()) return row.pci_address;
  return row.netdev.empty() ? "device:" + row.device : "netdev:" + row.netdev;
}

double finite(double value) { return std::isfinite(value) ? value : 0; }

}  // namespace

std::optional<std::int64_t> Interner::recall(std::string_view key) const {
  const auto found = ids_.find(key);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

void Interner::remember(std::string key, std::int64_t id) {
  if (key.size() > kMaxCachedKeyBytes) return;
  cached_bytes_ += key.size() + sizeof(std::int64_t);
  if (cached_bytes_ > kMaxCachedBytes) forget();
  ids_.emplace(std::move(key), id);
}

void Interner::forget() {
  ids_.clear();
  series_.clear();
  cached_bytes_ = 0;
}

Result<std::int64_t> Interner::text_set(char kind, std::string_view find, std::string_view insert,
                                        std::string_view body) {
  std::string key = fmt::format("{}{}", kind, body);
  if (const auto known = recall(key)) return *known;
  const std::int64_t hash = hash_of(body);
  auto id = RG_TRY(connection_.integer(find, hash, body));
  if (!id) {
    RG_TRY_OK(connection_.execute(insert, hash, body));
    id = connection_.last_id();
  }
  remember(std::move(key), *id);
  return *id;
}

Result<std::int64_t> Interner::fact_set(const TextMap& facts) { return fact_set(json_of(facts)); }

Result<std::int64_t> Interner::fact_set(std::string_view json) {
  return text_set('f', "SELECT id FROM fact_set WHERE hash=?1 AND body=?2",
                  "INSERT INTO fact_set (hash, body) VALUES (?1, ?2)", json);
}

Result<std::int64_t> Interner::parameter_set(const TextMap& parameters) {
  return text_set('p', "SELECT id FROM parameter_set WHERE hash=?1 AND body=?2",
                  "INSERT INTO parameter_set (hash, body) VALUES (?1, ?2)", json_of(parameters));
}

Result<std::int64_t> Interner::node(std::string_view node_id, std::string_view name, double now) {
  std::string key = fmt::format("n{}", node_id);
  if (const auto known = recall(key)) return *known;
  auto id = RG_TRY(connection_.integer("SELECT id FROM node WHERE node_id=?1", node_id));
  if (!id) {
    RG_TRY_OK(connection_.execute(
        "INSERT INTO node (node_id, name, version, address, first_seen_at, last_seen_at) "
        "VALUES (?1, ?2, '', '', ?3, ?3)",
        node_id, name, now));
    id = connection_.last_id();
    RG_TRY_OK(connection_.execute(
        "INSERT INTO node_name (node, name, valid_from) VALUES (?1, ?2, ?3)", *id, name, now));
  }
  remember(std::move(key), *id);
  return *id;
}

Result<std::int64_t> Interner::insert_endpoint(const EndpointKey& key, double now) {
  RG_TRY_OK(connection_.execute(
      "INSERT INTO endpoint (node, slot, port, gpu_slot, kind, state, last_seen_at) "
      "VALUES (?1, ?2, ?3, '', ?4, ?5, ?6) "
      "ON CONFLICT DO UPDATE SET state=excluded.state, last_seen_at=excluded.last_seen_at",
      key.node, key.slot, key.port, key.kind, key.state, now));
  const auto id = RG_TRY(connection_.integer(
      "SELECT id FROM endpoint WHERE node=?1 AND slot=?2 AND port=?3 AND gpu_slot=''", key.node,
      key.slot, key.port));
  RG_CHECK(id.has_value());
  return *id;
}

// A port with the GPU whose memory it uses, by both slots; no agent reports such a one.
Result<std::int64_t> Interner::insert_with_gpu(std::int64_t port, std::int64_t gpu) {
  RG_TRY_OK(connection_.execute(
      "INSERT INTO endpoint (node, slot, port, gpu_slot, kind, state, last_seen_at) "
      "SELECT nic.node, nic.slot, nic.port, gpu.slot, nic.kind, '', 0 FROM endpoint AS nic, "
      "endpoint AS gpu WHERE nic.id=?1 AND gpu.id=?2 ON CONFLICT DO NOTHING",
      port, gpu));
  const auto id = RG_TRY(connection_.integer(
      "SELECT used.id FROM endpoint AS nic JOIN endpoint AS gpu ON gpu.id=?2 JOIN endpoint AS used "
      "ON used.node=nic.node AND used.slot=nic.slot AND used.port=nic.port AND "
      "used.gpu_slot=gpu.slot WHERE nic.id=?1",
      port, gpu));
  RG_CHECK(id.has_value());
  return *id;
}

Result<std::int64_t> Interner::endpoint(std::int64_t node, std::string_view text, double now) {
  std::string key = fmt::format("e{} {}", node, text);
  if (const auto known = recall(key)) return *known;
  std::int64_t id = 0;
  if (text.empty()) {
    id = RG_TRY(insert_endpoint({node, "host", 0, "host", ""}, 0));
  } else if (const std::size_t plus = text.rfind("+gpu"); plus != std::string_view::npos) {
    const std::int64_t nic = RG_TRY(endpoint(node, text.substr(0, plus), now));
    const std::int64_t gpu = RG_TRY(endpoint(node, text.substr(plus + 1), now));
    id = RG_TRY(insert_with_gpu(nic, gpu));
  } else {
    const auto [device, port] = split_endpoint(text);
    const auto found = RG_TRY(connection_.integer(
        "SELECT endpoint.id FROM endpoint JOIN endpoint_attribute ON endpoint=endpoint.id "
        "WHERE node=?1 AND device=?2 AND port=?3 AND valid_to IS NULL "
        "ORDER BY last_seen_at DESC LIMIT 1",
        node, device, port));
    id = found ? *found
               : RG_TRY(insert_endpoint({node, fmt::format("device:{}", device), port,
                                         device.starts_with("gpu") ? "gpu" : "nic", ""},
                                        now));
  }
  remember(std::move(key), id);
  return id;
}

Result<std::string> Interner::put_endpoint(std::int64_t node, const EndpointRow& row, double now) {
  const std::string slot = slot_of(row);
  const std::int64_t id = RG_TRY(insert_endpoint({node, slot, row.port, row.kind, row.state}, now));
  return put_attributes(id, row, now);
}

// A new row where something changed; its predecessor ends then.
Result<std::string> Interner::put_attributes(std::int64_t endpoint, const EndpointRow& row,
                                             double now) {
  const double rate = finite(row.rate_bits_per_second);
  const double mtu = finite(row.active_mtu_bytes);
  const auto same = RG_TRY(connection_.integer(
      "SELECT 1 FROM endpoint_attribute WHERE endpoint=?1 AND valid_to IS NULL AND device=?2 AND "
      "netdev=?3 AND guid=?4 AND link_layer=?5 AND driver=?6 AND firmware=?7 AND "
      "rate_bits_per_second=?8 AND active_mtu_bytes=?9 AND numa_node_plus_one=?10 AND model=?11",
      endpoint, row.device, row.netdev, row.guid, row.link_layer, row.driver, row.firmware, rate,
      mtu, row.numa_node_plus_one, row.model));
  if (same) return "";
  std::string replaced;
  if (RG_TRY(connection_.row(std::tie(replaced),
                             "SELECT guid FROM endpoint_attribute WHERE endpoint=?1 AND valid_to "
                             "IS NULL AND guid<>'' AND guid<>?2 AND ?2<>''",
                             endpoint, row.guid)))
    replaced += " -> " + row.guid;
  RG_TRY_OK(
      connection_.execute("UPDATE endpoint_attribute SET valid_to=max(?2, valid_from) "
                          "WHERE endpoint=?1 AND valid_to IS NULL",
                          endpoint, now));
  // Two changes at one instant, or a clock that stepped back: the later one counts.
  RG_TRY_OK(connection_.execute(
      "INSERT INTO endpoint_attribute (endpoint, valid_from, device, netdev, guid, link_layer, "
      "driver, firmware, rate_bits_per_second, active_mtu_bytes, numa_node_plus_one, model) "
      "VALUES (?1, max(?11, coalesce((SELECT max(valid_from) + 1e-6 FROM endpoint_attribute "
      "WHERE endpoint=?1), ?11)), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?12)",
      endpoint, row.device, row.netdev, row.guid, row.link_layer, row.driver, row.firmware, rate,
      mtu, row.numa_node_plus_one, now, row.model));
  forget();  // a device's name may mean another slot now
  return replaced;
}

Result<std::int64_t> Interner::series(const SeriesKey& key, const Point& point) {
  scratch_.assign(point.metric()).append(1, ' ').append(point.meaning()).append(1, ' ');
  scratch_.append(point.pair());  // none of them has a blank: the record check
  const SeriesPlace place{key.group, number_of(words_, scratch_), point.message_bytes()};
  if (const auto known = series_.find(place); known != series_.end()) return known->second;
  const std::string endpoints = fmt::format("{}", fmt::join(key.endpoints, ","));
  const auto found = RG_TRY(look_up_series(key, point, endpoints));
  const std::int64_t id = found ? *found : RG_TRY(insert_series(key, point, endpoints));
  if (series_.size() >= kMaxCachedSeries) series_.clear();
  series_.emplace(place, id);
  return id;
}

Result<std::optional<std::int64_t>> Interner::find_series(const SeriesKey& key,
                                                          const Point& point) {
  return look_up_series(key, point, fmt::format("{}", fmt::join(key.endpoints, ",")));
}

Result<std::optional<std::int64_t>> Interner::look_up_series(const SeriesKey& key,
                                                             const Point& point,
                                                             const std::string& endpoints) {
  return connection_.integer(
      "SELECT id FROM series WHERE kernel=?1 AND metric=?2 AND message_bytes=?3 AND endpoints=?4 "
      "AND revision=?5 AND meaning=?6 AND rank=?7 AND parameters=?8 AND pair=?9",
      key.kernel, point.metric(), point.message_bytes(), endpoints, key.revision, point.meaning(),
      key.rank, key.parameters, point.pair());
}

std::uint64_t Interner::series_group(const SeriesKey& key) {
  return number_of(groups_, fmt::format("{} {} {} {} {}", key.kernel, key.revision, key.rank,
                                        fmt::join(key.endpoints, ","), key.parameters));
}

std::uint64_t Interner::number_of(Numbers& numbers, std::string_view text) {
  if (const auto known = numbers.find(text); known != numbers.end()) return known->second;
  if (numbers.size() >= kMaxNumbers) numbers.clear();
  return numbers.emplace(std::string(text), ++last_number_).first->second;
}

std::size_t Interner::SeriesPlaceHash::operator()(const SeriesPlace& place) const {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;  // spreads neighbours
  std::uint64_t hash = place.group * kOdd ^ place.words;
  hash = (hash ^ hash >> 32U) * kOdd ^ std::bit_cast<std::uint64_t>(place.message_bytes);
  hash *= kOdd;
  return hash ^ hash >> 29U;
}

Result<std::int64_t> Interner::insert_series(const SeriesKey& key, const Point& point,
                                             const std::string& endpoints) {
  RG_TRY_OK(connection_.execute(
      "INSERT INTO series (kernel, revision, metric, meaning, message_bytes, rank, parameters, "
      "endpoints, unit, larger_is_better, pair) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
      "?11)",
      key.kernel, key.revision, point.metric(), point.meaning(), point.message_bytes(), key.rank,
      key.parameters, endpoints, point.unit(), point.larger_is_better(), point.pair()));
  const std::int64_t id = connection_.last_id();
  int position = 0;
  for (const std::int64_t endpoint : key.endpoints)
    RG_TRY_OK(connection_.execute(
        "INSERT INTO series_endpoint (series, position, endpoint) VALUES (?1, ?2, ?3)", id,
        position++, endpoint));
  return id;
}

}  // namespace railgauge::store
