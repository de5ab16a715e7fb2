import { kernelsAreRight } from '../support/kernel-levels.ts';

kernelsAreRight('sm_80', 1);
