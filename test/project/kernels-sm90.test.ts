import { kernelsAreRight } from '../support/kernel-levels.ts';

kernelsAreRight('sm_90', 1);
