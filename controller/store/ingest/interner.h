// Ids of repeated rows: nodes, endpoints, series, sets of facts and parameters. Looks up or inserts
// rows inside the writer's transaction. Bounded caches hold the ids; they are cleared when a
// transaction is rolled back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "controller/store/rows/rows.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// The identity of a series, except for the point's own metric, meaning and size.
struct SeriesKey {
  std::uint64_t group = 0;  // series_group() of the rest
  std::string_view kernel{};
  std::uint32_t revision = 0;
  std::uint32_t rank = 0;                     // that reports
  std::string_view parameters{};              // JSON of those that are part of the identity
  std::span<const std::int64_t> endpoints{};  // by position
};

// The interner of one connection. Used on the writer thread only.
class Interner {
 public:
  explicit Interner(Connection& connection) : connection_(connection) {}

  Result<std::int64_t> fact_set(const TextMap& facts);
  Result<std::int64_t> fact_set(std::string_view json);  // as json_of() writes it
  Result<std::int64_t> parameter_set(const TextMap& parameters);
  // Returns the row id of a node; inserts a new node under `name`.
  Result<std::int64_t> node(std::string_view node_id, std::string_view name, double now);
  // Returns the row id of the node's endpoint with the present name "DEV:PORT", "gpuN" or
  // "DEV:PORT+gpuN"; inserts one for a device that the agent never reported. "" is the node itself.
  Result<std::int64_t> endpoint(std::int64_t node, std::string_view text, double now);
  // Inserts or refreshes an endpoint that the agent reports. Returns the change of the GUID or UUID
  // in its slot ("a -> b"), which means other hardware; "" without a change.
  Result<std::string> put_endpoint(std::int64_t node, const EndpointRow& row, double now);
  // Returns a number for the key without its group, valid during the life of this object.
  std::uint64_t series_group(const SeriesKey& key);
  Result<std::int64_t> series(const SeriesKey& key, const Point& point);
  // The same without inserting; absent for a series that does not exist.
  Result<std::optional<std::int64_t>> find_series(const SeriesKey& key, const Point& point);

  void forget();

 private:
  struct EndpointKey {
    std::int64_t node;
    std::string_view slot;
    std::uint32_t port;
    std::string_view kind;
    std::string_view state;
  };
  Result<std::int64_t> insert_endpoint(const EndpointKey& key, double now);
  Result<std::int64_t> insert_with_gpu(std::int64_t port, std::int64_t gpu);
  Result<std::string> put_attributes(std::int64_t endpoint, const EndpointRow& row, double now);
  Result<std::int64_t> text_set(char kind, std::string_view find, std::string_view insert,
                                std::string_view body);
  Result<std::optional<std::int64_t>> look_up_series(const SeriesKey& key, const Point& point,
                                                     const std::string& endpoints);
  Result<std::int64_t> insert_series(const SeriesKey& key, const Point& point,
                                     const std::string& endpoints);
  std::optional<std::int64_t> recall(std::string_view key) const;
  void remember(std::string key, std::int64_t id);

  Connection& connection_;
  // One cache; keys start with a letter for their kind.
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> ids_;
  std::size_t cached_bytes_ = 0;

  // Key of a series by numbers instead of texts: there are hundreds of thousands of series.
  struct SeriesPlace {
    std::uint64_t group;
    std::uint64_t words;  // number of metric, meaning and pair together
    double message_bytes;
    bool operator==(const SeriesPlace&) const = default;
  };
  struct SeriesPlaceHash {
    std::size_t operator()(const SeriesPlace& place) const;
  };
  using Numbers = std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>>;
  std::uint64_t number_of(Numbers& numbers, std::string_view text);

  std::unordered_map<SeriesPlace, std::int64_t, SeriesPlaceHash> series_;
  // Numbers are never reused, so a number stays unique after its text was forgotten.
  std::uint64_t last_number_ = 0;
  Numbers groups_;
  Numbers words_;
  std::string scratch_;
};

}  // namespace railgauge::store
