// Which series a filter selects, as a subquery over fixed places of values.
#pragma once

#include <string_view>

namespace railgauge::store {

// ?2 kernel, ?3 metric, ?4 size or NULL, ?5 JSON list of nodes, ?8 endpoint ("DEV:PORT" or "gpuN",
// as named now or ever), ?9 rail or NULL. "" and "[]" match any.
inline constexpr std::string_view kSeriesChoice =
    "SELECT id FROM series WHERE (?2='' OR kernel=?2) AND (?3='' OR metric=?3) AND (?4 IS NULL OR "
    "message_bytes=?4) AND (?5='[]' OR id IN (SELECT series FROM series_endpoint JOIN endpoint ON "
    "endpoint.id=endpoint JOIN node_name ON node_name.node=endpoint.node JOIN node ON "
    "node.id=endpoint.node, json_each(?5) AS wanted WHERE wanted.value IN (node_name.name, "
    "node.node_id))) AND (?8='' OR id IN (SELECT series FROM endpoint_attribute JOIN endpoint ON "
    "endpoint.id=endpoint_attribute.endpoint JOIN endpoint AS used ON used.node=endpoint.node AND "
    "((used.slot=endpoint.slot AND used.port=endpoint.port) OR (endpoint.kind='gpu' AND "
    "used.gpu_slot=endpoint.slot)) JOIN series_endpoint ON "
    "series_endpoint.endpoint=used.id WHERE ?8=iif(endpoint.port>0, device || ':' || "
    "endpoint.port, device))) "
    "AND (?9 IS NULL OR id IN (SELECT series FROM series_endpoint JOIN endpoint ON "
    "endpoint.id=endpoint WHERE rail=?9))";

}  // namespace railgauge::store
