#include "controller/fleet/node_rows.h"

#include <utility>

#include "controller/fleet/fleet.h"

namespace railgauge::fleet {

store::NodeRow row_of(const NodeState& node) {
  const api::Hello& hello = node.hello;
  store::NodeRow row;
  row.node_id = hello.node_id();
  row.name = hello.name();
  row.version = hello.version();
  row.address = node.address;
  row.facts = {hello.stack_versions().begin(), hello.stack_versions().end()};
  row.settings = {hello.stack_settings().begin(), hello.stack_settings().end()};
  row.stack_incomplete = hello.stack_incomplete();
  row.described = {hello.facts().begin(), hello.facts().end()};
  // An old agent, without named parts of the stack, reports its versions as facts.
  if (row.facts.empty()) std::swap(row.facts, row.described);
  for (const api::Nic& nic : hello.nics()) {
    store::EndpointRow endpoint;
    endpoint.kind = "nic";
    endpoint.device = nic.device();
    endpoint.port = nic.port();
    endpoint.pci_address = nic.pci_address();
    endpoint.netdev = nic.netdev();
    endpoint.guid = nic.guid();
    endpoint.state = nic.state();
    endpoint.link_layer = nic.link_layer();
    endpoint.driver = nic.driver();
    endpoint.firmware = nic.firmware();
    endpoint.rate_bits_per_second = nic.rate_bits_per_second();
    endpoint.active_mtu_bytes = nic.active_mtu_bytes();
    endpoint.numa_node_plus_one = nic.numa_node_plus_one();
    row.endpoints.push_back(std::move(endpoint));
  }
  for (const api::Gpu& gpu : hello.gpus())
    row.endpoints.push_back({.kind = "gpu",
                             .device = gpu.name(),
                             .pci_address = gpu.pci_address(),
                             .guid = gpu.uuid(),
                             .state = gpu.state(),
                             .driver = gpu.driver(),
                             .firmware = gpu.vbios(),
                             .model = gpu.model(),
                             .numa_node_plus_one = gpu.numa_node_plus_one()});
  return row;
}

NodeState state_of(const store::NodeRow& row) {
  NodeState node;
  api::Hello& hello = node.hello;
  hello.set_name(row.name);
  hello.set_node_id(row.node_id);
  hello.mutable_facts()->insert(row.described.begin(), row.described.end());
  hello.mutable_facts()->insert(row.facts.begin(), row.facts.end());
  node.last_seen_at_unix = row.last_seen_at;
  for (const store::EndpointRow& endpoint : row.endpoints) {
    if (endpoint.kind == "nic") {
      api::Nic& nic = *hello.add_nics();
      nic.set_device(endpoint.device);
      nic.set_port(endpoint.port);
      nic.set_pci_address(endpoint.pci_address);
      nic.set_netdev(endpoint.netdev);
      nic.set_guid(endpoint.guid);
      nic.set_state(endpoint.state);
      nic.set_link_layer(endpoint.link_layer);
      nic.set_driver(endpoint.driver);
      nic.set_rate_bits_per_second(endpoint.rate_bits_per_second);
      continue;
    }
    api::Gpu& gpu = *hello.add_gpus();
    gpu.set_name(endpoint.device);
    gpu.set_pci_address(endpoint.pci_address);
    gpu.set_state(endpoint.state);
    gpu.set_model(endpoint.model);
  }
  return node;
}

}  // namespace railgauge::fleet
