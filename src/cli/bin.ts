#!/usr/bin/env node
// The program behind the name `edge-detect`.
import { main } from './main.ts';

process.exitCode = await main(process.argv.slice(2));
