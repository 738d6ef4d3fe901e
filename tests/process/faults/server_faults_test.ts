import { testFaults } from "./fault_tests.ts";

testFaults("server");
