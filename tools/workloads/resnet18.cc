// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/app/network_app.h"

int main(int argc, char** argv) {
  return workloads::RunNetworkApp(argc, argv,
                                  {"resnet18", workloads::kResNet18Blocks, workloads::ResNet18});
}
